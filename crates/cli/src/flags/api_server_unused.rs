use super::common_unused::{OBSERVABILITY, VERSIONS};
use super::unused::{UnusedFlag, UnusedFlags, changes_nothing, refused};

const AUDIT_THREAD: &str = "one thread writes the audit log";
const AUDIT_FILE: &str = "the audit log is one file, which is not rotated or compressed";
const AUDIT_EVENTS: &str = "events in the audit log are never truncated";
const CONNECTIONS: &str = "connections cannot be tuned";
const COORDINATION: &str = "coordinated leader election is not supported";
const ONE_VERSION: &str = "Coracle has one version";
const POLLING: &str = "no metric polls the store";
const PEERS: &str = "API servers do not call each other";
const SHUTDOWN: &str = "the shutdown cannot be tuned";
const TIMEOUT: &str = "the timeout is fixed";
const WATCH_CACHE: &str = "the cache of objects cannot be tuned";
const AUDIT_WEBHOOK: &str = "audit events go to a file only";
const ENCRYPTION: &str = "encryption at rest is not supported";
const OIDC: &str = "OpenID Connect is not supported";

/// The flags of kube-apiserver that the API server does not obey.
#[derive(Debug)]
pub(crate) struct ApiServerUnused;

impl UnusedFlags for ApiServerUnused {
    const ROWS: &'static [&'static [UnusedFlag]] = &[CHANGES_NOTHING, OBSERVABILITY, VERSIONS, REFUSED];
}

/// Flags that tune a part that Coracle does not have, or that say what is the case anyway.
const CHANGES_NOTHING: &[UnusedFlag] = &[
    changes_nothing(
        "aggregator-reject-forwarding-redirect",
        "BOOL",
        "redirects of extension API servers are never followed and never returned",
    )
    .unless("true"),
    changes_nothing("allow-privileged", "BOOL", "containers may always be privileged").unless("true"),
    changes_nothing("apiserver-count", "COUNT", "the endpoint reconciler master-count is not supported"),
    changes_nothing("audit-log-batch-buffer-size", "COUNT", AUDIT_THREAD),
    changes_nothing("audit-log-batch-max-size", "COUNT", AUDIT_THREAD),
    changes_nothing("audit-log-batch-max-wait", "DURATION", AUDIT_THREAD),
    changes_nothing("audit-log-batch-throttle-burst", "COUNT", AUDIT_THREAD),
    changes_nothing("audit-log-batch-throttle-enable", "BOOL", AUDIT_THREAD),
    changes_nothing("audit-log-batch-throttle-qps", "NUMBER", AUDIT_THREAD),
    changes_nothing("audit-log-compress", "BOOL", AUDIT_FILE),
    changes_nothing("audit-log-maxage", "COUNT", AUDIT_FILE),
    changes_nothing("audit-log-maxbackup", "COUNT", AUDIT_FILE),
    changes_nothing("audit-log-maxsize", "COUNT", AUDIT_FILE),
    changes_nothing("audit-log-truncate-enabled", "BOOL", AUDIT_EVENTS),
    changes_nothing("audit-log-truncate-max-batch-size", "COUNT", AUDIT_EVENTS),
    changes_nothing("audit-log-truncate-max-event-size", "COUNT", AUDIT_EVENTS),
    changes_nothing("coordinated-leadership-lease-duration", "DURATION", COORDINATION),
    changes_nothing("coordinated-leadership-renew-deadline", "DURATION", COORDINATION),
    changes_nothing("coordinated-leadership-retry-period", "DURATION", COORDINATION),
    changes_nothing("debug-socket-path", "FILE", "there is no profiler to switch on"),
    changes_nothing("default-watch-cache-size", "COUNT", WATCH_CACHE),
    changes_nothing(
        "delete-collection-workers",
        "COUNT",
        "the number of workers changes only how fast a collection is deleted",
    ),
    changes_nothing("disable-http2-serving", "BOOL", CONNECTIONS),
    changes_nothing("emulation-forward-compatible", "BOOL", ONE_VERSION),
    changes_nothing("enable-aggregator-routing", "BOOL", "the route to an extension API server is fixed"),
    changes_nothing(
        "enable-garbage-collector",
        "BOOL",
        "the garbage collector is a controller, which --controllers switches off",
    )
    .unless("true"),
    changes_nothing("enable-logs-handler", "BOOL", "/logs is not served"),
    changes_nothing("enable-priority-and-fairness", "BOOL", "requests are assigned to flows and never queued"),
    changes_nothing("etcd-compaction-interval", "DURATION", "the interval is fixed").unless("5m0s"),
    changes_nothing("etcd-count-metric-poll-period", "DURATION", POLLING),
    changes_nothing("etcd-db-metric-poll-interval", "DURATION", POLLING),
    changes_nothing("etcd-healthcheck-timeout", "DURATION", TIMEOUT),
    changes_nothing("etcd-readycheck-timeout", "DURATION", TIMEOUT),
    changes_nothing("external-hostname", "TEXT", "responses contain the advertised address"),
    changes_nothing("goaway-chance", "NUMBER", CONNECTIONS),
    changes_nothing("http2-max-streams-per-connection", "COUNT", CONNECTIONS),
    changes_nothing("kubelet-read-only-port", "COUNT", "the read-only port of nodes is never called"),
    changes_nothing("kubelet-timeout", "DURATION", TIMEOUT),
    changes_nothing("kubernetes-service-node-port", "COUNT", "the Service kubernetes has no node port").unless("0"),
    changes_nothing("lease-reuse-duration-seconds", "COUNT", "the expiry of events cannot be tuned"),
    changes_nothing("livez-grace-period", "DURATION", "/livez has no grace period").unless("0s"),
    changes_nothing("max-connection-bytes-per-sec", "COUNT", CONNECTIONS),
    changes_nothing("peer-advertise-ip", "TEXT", PEERS),
    changes_nothing("peer-advertise-port", "TEXT", PEERS),
    changes_nothing("permit-address-sharing", "BOOL", CONNECTIONS),
    changes_nothing("permit-port-sharing", "BOOL", CONNECTIONS),
    changes_nothing("runtime-config-emulation-forward-compatible", "BOOL", ONE_VERSION),
    changes_nothing("shutdown-delay-duration", "DURATION", SHUTDOWN),
    changes_nothing("shutdown-send-retry-after", "BOOL", SHUTDOWN),
    changes_nothing("shutdown-watch-termination-grace-period", "DURATION", SHUTDOWN),
    changes_nothing("storage-backend", "TEXT", "there is no other kind of storage").unless("etcd3"),
    changes_nothing("storage-initialization-timeout", "DURATION", TIMEOUT),
    changes_nothing("storage-media-type", "TEXT", "objects are stored as JSON").unless("application/json"),
    changes_nothing("watch-cache", "BOOL", WATCH_CACHE),
    changes_nothing("watch-cache-sizes", "LIST", WATCH_CACHE),
];

/// Flags that restrict access, hide data or send data elsewhere: without them the server would be less secure than
/// requested, or would behave differently.
const REFUSED: &[UnusedFlag] = &[
    refused("audit-log-format", "FORMAT", "the audit log is JSON").unless("json"),
    refused("audit-log-version", "VERSION", "audit events have one version").unless("audit.k8s.io/v1"),
    refused("audit-webhook-batch-buffer-size", "COUNT", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-initial-backoff", "DURATION", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-max-size", "COUNT", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-max-wait", "DURATION", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-throttle-burst", "COUNT", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-throttle-enable", "BOOL", AUDIT_WEBHOOK),
    refused("audit-webhook-batch-throttle-qps", "NUMBER", AUDIT_WEBHOOK),
    refused("audit-webhook-config-file", "FILE", AUDIT_WEBHOOK),
    refused("audit-webhook-initial-backoff", "DURATION", AUDIT_WEBHOOK),
    refused("audit-webhook-mode", "TEXT", AUDIT_WEBHOOK),
    refused("audit-webhook-truncate-enabled", "BOOL", AUDIT_WEBHOOK),
    refused("audit-webhook-truncate-max-batch-size", "COUNT", AUDIT_WEBHOOK),
    refused("audit-webhook-truncate-max-event-size", "COUNT", AUDIT_WEBHOOK),
    refused("audit-webhook-version", "TEXT", AUDIT_WEBHOOK),
    refused("authentication-config", "TEXT", "authentication configuration files are not supported"),
    refused("authorization-config", "TEXT", "authorization configuration files are not supported"),
    refused("authorization-policy-file", "FILE", "the authorization mode ABAC is not supported"),
    refused("cors-allowed-origins", "LIST", "CORS is not supported"),
    refused("egress-selector-config-file", "FILE", "egress proxies are not supported"),
    refused("enable-bootstrap-token-auth", "BOOL", "bootstrap tokens are not supported").unless("false"),
    refused("encryption-provider-config", "TEXT", ENCRYPTION),
    refused("encryption-provider-config-automatic-reload", "BOOL", ENCRYPTION).unless("false"),
    refused("etcd-servers-overrides", "LIST", "all objects are in one store"),
    refused("oidc-ca-file", "FILE", OIDC),
    refused("oidc-client-id", "TEXT", OIDC),
    refused("oidc-groups-claim", "TEXT", OIDC),
    refused("oidc-groups-prefix", "TEXT", OIDC),
    refused("oidc-issuer-url", "TEXT", OIDC),
    refused("oidc-required-claim", "LIST", OIDC),
    refused("oidc-signing-algs", "LIST", OIDC),
    refused("oidc-username-claim", "TEXT", OIDC),
    refused("oidc-username-prefix", "TEXT", OIDC),
    refused("peer-ca-file", "FILE", PEERS),
    refused("service-account-lookup", "BOOL", "the token of a deleted service account is always rejected")
        .unless("true"),
    refused("service-account-signing-endpoint", "TEXT", "external signers of tokens are not supported"),
    refused("strict-transport-security-directives", "LIST", "the header Strict-Transport-Security is not supported"),
    refused("tls-cipher-suites", "LIST", "the cipher suites are fixed"),
    refused("tls-sni-cert-key", "FILES", "there is one serving certificate"),
    refused("tracing-config-file", "FILE", "tracing is not supported"),
];
