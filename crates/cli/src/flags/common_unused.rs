//! Flags that several programs of Kubernetes have.

use super::unused::{UnusedFlag, changes_nothing, refused};

const LOG: &str = "Coracle writes no log in the format of klog";
const METRIC: &str = "the metrics of Coracle cannot be configured";
const PROFILER: &str = "there is no profiler to switch on";
const VERSION: &str = "--kubernetes chooses the release";
const NO_HTTPS: &str = "this program serves no HTTPS; --metrics serves /healthz and /metrics";

/// Logs, metrics and profiles.
pub(super) const OBSERVABILITY: &[UnusedFlag] = &[
    changes_nothing("allow-metric-labels", "MAP", METRIC),
    changes_nothing("allow-metric-labels-manifest", "TEXT", METRIC),
    changes_nothing("disabled-metrics", "LIST", METRIC),
    changes_nothing("show-hidden-metrics-for-version", "TEXT", METRIC),
    changes_nothing("contention-profiling", "BOOL", PROFILER),
    changes_nothing("profiling", "BOOL", PROFILER),
    changes_nothing("log-flush-frequency", "DURATION", LOG),
    changes_nothing("log-text-info-buffer-size", "BYTES", LOG),
    changes_nothing("log-text-split-stream", "BOOL", LOG),
    changes_nothing("logging-format", "TEXT", LOG),
    changes_nothing("v", "LEVEL", LOG),
    changes_nothing("vmodule", "LIST", LOG),
];

/// Versions of the program.
pub(super) const VERSIONS: &[UnusedFlag] = &[
    changes_nothing("emulated-version", "LIST", VERSION),
    changes_nothing("min-compatibility-version", "LIST", VERSION),
];

/// The HTTPS endpoint of a component that is no API server, its access to the API server, and its leader election.
pub(super) const COMPONENT: &[UnusedFlag] = &[
    changes_nothing("authentication-kubeconfig", "FILE", NO_HTTPS),
    changes_nothing("authentication-skip-lookup", "BOOL", NO_HTTPS),
    changes_nothing("authentication-token-webhook-cache-ttl", "DURATION", NO_HTTPS),
    changes_nothing("authentication-tolerate-lookup-failure", "BOOL", NO_HTTPS),
    changes_nothing("authorization-always-allow-paths", "LIST", NO_HTTPS),
    changes_nothing("authorization-kubeconfig", "FILE", NO_HTTPS),
    changes_nothing("authorization-webhook-cache-authorized-ttl", "DURATION", NO_HTTPS),
    changes_nothing("authorization-webhook-cache-unauthorized-ttl", "DURATION", NO_HTTPS),
    changes_nothing("bind-address", "IP", NO_HTTPS),
    changes_nothing("cert-dir", "DIR", NO_HTTPS),
    changes_nothing("client-ca-file", "FILE", NO_HTTPS),
    changes_nothing("disable-http2-serving", "BOOL", NO_HTTPS),
    changes_nothing("http2-max-streams-per-connection", "COUNT", NO_HTTPS),
    changes_nothing("permit-address-sharing", "BOOL", NO_HTTPS),
    changes_nothing("permit-port-sharing", "BOOL", NO_HTTPS),
    changes_nothing("requestheader-allowed-names", "LIST", NO_HTTPS),
    changes_nothing("requestheader-client-ca-file", "FILE", NO_HTTPS),
    changes_nothing("requestheader-extra-headers-prefix", "LIST", NO_HTTPS),
    changes_nothing("requestheader-group-headers", "LIST", NO_HTTPS),
    changes_nothing("requestheader-uid-headers", "LIST", NO_HTTPS),
    changes_nothing("requestheader-username-headers", "LIST", NO_HTTPS),
    changes_nothing("secure-port", "COUNT", NO_HTTPS),
    changes_nothing("tls-cert-file", "FILE", NO_HTTPS),
    changes_nothing("tls-cipher-suites", "LIST", NO_HTTPS),
    changes_nothing("tls-min-version", "TEXT", NO_HTTPS),
    changes_nothing("tls-private-key-file", "FILE", NO_HTTPS),
    changes_nothing("tls-sni-cert-key", "FILES", NO_HTTPS),
    changes_nothing("log-json-info-buffer-size", "BYTES", LOG),
    changes_nothing("log-json-split-stream", "BOOL", LOG),
    changes_nothing("kube-api-content-type", "TEXT", "the program and the API server speak JSON"),
    refused("leader-elect-resource-lock", "TEXT", "leader election uses a Lease").unless("leases"),
    refused("leader-elect-resource-namespace", "TEXT", "the namespace of the Lease is fixed").unless("kube-system"),
    refused("master", "URL", "--kubeconfig names the API server"),
];
