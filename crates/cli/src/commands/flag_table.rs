use anyhow::Result;

use crate::exit;
use crate::go_flags::is_value;

/// Flags of kube-apiserver 1.35 without a visible effect: they tune a component that Coracle does not have, or request
/// the default behaviour. The commands define the flags with an effect; the others are these and [`REFUSED`].
const CHANGES_NOTHING: &[&str] = &[
    "aggregator-reject-forwarding-redirect",
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "apiserver-count",
    "audit-log-batch-buffer-size",
    "audit-log-batch-max-size",
    "audit-log-batch-max-wait",
    "audit-log-batch-throttle-burst",
    "audit-log-batch-throttle-enable",
    "audit-log-batch-throttle-qps",
    "audit-log-compress",
    "audit-log-maxage",
    "audit-log-maxbackup",
    "audit-log-maxsize",
    "audit-log-truncate-enabled",
    "audit-log-truncate-max-batch-size",
    "audit-log-truncate-max-event-size",
    "contention-profiling",
    "coordinated-leadership-lease-duration",
    "coordinated-leadership-renew-deadline",
    "coordinated-leadership-retry-period",
    "debug-socket-path",
    "default-watch-cache-size",
    "delete-collection-workers",
    "disable-http2-serving",
    "disabled-metrics",
    "emulated-version",
    "emulation-forward-compatible",
    "enable-aggregator-routing",
    "enable-garbage-collector",
    "enable-logs-handler",
    "enable-priority-and-fairness",
    "etcd-compaction-interval",
    "etcd-count-metric-poll-period",
    "etcd-db-metric-poll-interval",
    "etcd-healthcheck-timeout",
    "etcd-readycheck-timeout",
    "external-hostname",
    "goaway-chance",
    "help",
    "http2-max-streams-per-connection",
    "kubelet-read-only-port",
    "kubelet-timeout",
    "kubernetes-service-node-port",
    "lease-reuse-duration-seconds",
    "livez-grace-period",
    "log-flush-frequency",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "logging-format",
    "max-connection-bytes-per-sec",
    "min-compatibility-version",
    "peer-advertise-ip",
    "peer-advertise-port",
    "permit-address-sharing",
    "permit-port-sharing",
    "profiling",
    "runtime-config-emulation-forward-compatible",
    "show-hidden-metrics-for-version",
    "shutdown-delay-duration",
    "shutdown-send-retry-after",
    "shutdown-watch-termination-grace-period",
    "storage-backend",
    "storage-initialization-timeout",
    "storage-media-type",
    "v",
    "version",
    "vmodule",
    "watch-cache",
    "watch-cache-sizes",
];

/// Flags that restrict access, hide data or send data elsewhere: without them the server would be less secure than
/// requested, or behave differently. An entry that ends in a dash is a prefix.
const REFUSED: &[&str] = &[
    "audit-webhook-",
    "authentication-config",
    "authorization-config",
    "authorization-policy-file",
    "cors-allowed-origins",
    "egress-selector-config-file",
    "enable-bootstrap-token-auth",
    "encryption-provider-",
    "etcd-servers-overrides",
    "oidc-",
    "peer-ca-file",
    "service-account-lookup",
    "service-account-signing-endpoint",
    "strict-transport-security-directives",
    "tls-cipher-suites",
    "tls-sni-cert-key",
    "tracing-config-file",
];

/// Flags that have no effect if they have the only value that is supported here.
const SO_ANYWAY: &[(&str, &str)] = &[
    ("enable-bootstrap-token-auth", "false"),
    ("encryption-provider-config-automatic-reload", "false"),
    ("service-account-lookup", "true"),
    ("storage-backend", "etcd3"),
];

/// How a flag that a command does not define is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has no effect.
    Nothing,
    /// It must not be ignored.
    Refused,
    /// It is unknown.
    Unknown,
}

/// How `name` with the value `value` is handled.
pub(crate) fn fate(name: &str, value: &str) -> Fate {
    let is_refused = |refused: &&str| if refused.ends_with('-') { name.starts_with(refused) } else { name == *refused };
    match () {
        () if SO_ANYWAY.contains(&(name, value)) => Fate::Nothing,
        () if REFUSED.iter().any(is_refused) => Fate::Refused,
        () if CHANGES_NOTHING.contains(&name) => Fate::Nothing,
        () => Fate::Unknown,
    }
}

/// Removes flags without effect from a command line, and fails if a flag must not be ignored. Flags that `known`
/// accepts are kept, and so are unknown ones.
pub(crate) fn sift(arguments: Vec<String>, known: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let flag = argument.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, "true")));
        let Some((name, value)) = flag else {
            kept.push(argument);
            continue;
        };
        let name = name.replace('_', "-");
        let stands_alone = !argument.contains('=');
        if known(&name) {
            kept.push(argument);
            continue;
        }
        let next = arguments.peek().filter(|next| stands_alone && is_value(next)).cloned();
        match fate(&name, next.as_deref().unwrap_or(value)) {
            Fate::Nothing => drop(next.and_then(|_| arguments.next())),
            Fate::Refused => refused.push(name),
            Fate::Unknown => kept.push(argument),
        }
    }
    match refused.as_slice() {
        [] => Ok(kept),
        names => {
            let names = names.join(", --");
            Err(exit::Usage(format!("--{names}: not built; the server would be weaker, or another, without")).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::KubeApiserver;

    /// The flags of kube-apiserver 1.35.3.
    const ALL: &str = include_str!("kube_apiserver_flags.txt");

    fn own() -> BTreeSet<String> {
        let mut command = KubeApiserver::command();
        command.build();
        let names = command.get_arguments().flat_map(|argument| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
        });
        names.collect()
    }

    #[test]
    fn every_flag_of_kube_apiserver_is_obeyed_or_changes_nothing_or_is_refused() {
        let own = own();
        for name in ALL.lines() {
            let fate = fate(name, "some");
            assert!(own.contains(name) || fate != Fate::Unknown, "{name} is in no list");
        }
        assert_eq!(ALL.lines().count(), 174);
    }

    #[test]
    fn every_listed_flag_exists_in_kube_apiserver() {
        let all: BTreeSet<&str> = ALL.lines().collect();
        assert!(CHANGES_NOTHING.iter().all(|name| all.contains(name)));
        let is_there = |refused: &&str| all.iter().any(|name| name.starts_with(refused));
        assert!(REFUSED.iter().all(is_there));
        let ours: Vec<String> = own().into_iter().filter(|name| !all.contains(name.as_str())).collect();
        assert_eq!(ours, ["service-address"]);
    }

    #[test]
    fn refused_flags_end_the_start_and_ineffective_ones_are_dropped() {
        let sift = |line: &str| sift(line.split(' ').map(str::to_owned).collect(), |name| name == "nodes");
        let kept = sift("up --nodes 3 --watch-cache=false --profiling --storage-backend etcd3 --unheard-of x").unwrap();
        assert_eq!(kept, ["up", "--nodes", "3", "--unheard-of", "x"]);
        let refused = sift("up --oidc-issuer-url=x --tls_cipher_suites a").unwrap_err().to_string();
        assert!(refused.starts_with("--oidc-issuer-url, --tls-cipher-suites: not built"), "{refused}");
        assert!(sift("up --enable-bootstrap-token-auth=false").is_ok());
        assert!(sift("up --enable-bootstrap-token-auth").is_err());
    }
}
