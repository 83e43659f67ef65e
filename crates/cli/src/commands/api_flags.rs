use anyhow::Result;
use clap::Args;
use coracle_cluster::{ApiServerOptions, RuntimeConfig};
use coracle_meta::parse_duration;
use coracle_tls::OldestTls;

use crate::exit;
use crate::output::note;

/// kube-apiserver's flags that have the same meaning and the same default wherever an API server runs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ApiFlags {
    /// Groups, versions and resources to enable or disable: apps/v1=false,api/all=true
    #[arg(long, value_name = "KEY=BOOL,...")]
    runtime_config: Vec<String>,
    /// Features, as NAME=BOOL; no feature gate has an effect, and each one is ignored with a warning
    #[arg(long, value_name = "NAME=BOOL,...", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// The maximum number of non-mutating requests in flight; 0 for no limit
    #[arg(long, value_name = "COUNT")]
    max_requests_inflight: Option<usize>,
    /// The maximum number of mutating requests in flight; 0 for no limit
    #[arg(long, value_name = "COUNT")]
    max_mutating_requests_inflight: Option<usize>,
    /// The timeout of a request; streams have none
    #[arg(long, value_name = "DURATION")]
    request_timeout: Option<String>,
    /// The minimum number of seconds after which the server ends a watch that sets no timeout
    #[arg(long, value_name = "SECONDS")]
    min_request_timeout: Option<u64>,
    /// How long the server keeps Events
    #[arg(long, value_name = "DURATION")]
    event_ttl: Option<String>,
    /// The prefix of all keys in the store
    #[arg(long, value_name = "PATH")]
    etcd_prefix: Option<String>,
    /// The range of node ports of Services: FIRST-LAST
    #[arg(long, value_name = "RANGE")]
    service_node_port_range: Option<String>,
    /// The minimum TLS version: VersionTLS12 or VersionTLS13
    #[arg(long, value_name = "VERSION")]
    tls_min_version: Option<String>,
    /// The tolerationSeconds for notReady:NoExecute of pods that have no such toleration
    #[arg(long, value_name = "SECONDS")]
    default_not_ready_toleration_seconds: Option<i64>,
    /// The tolerationSeconds for unreachable:NoExecute of pods that have no such toleration
    #[arg(long, value_name = "SECONDS")]
    default_unreachable_toleration_seconds: Option<i64>,
}

impl ApiFlags {
    /// Applies the flags to `options`.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        let config = RuntimeConfig::parse(&self.runtime_config.join(","));
        options.runtime_config = config.map_err(|error| exit::Usage(error.to_string()))?;
        for gate in self.feature_gates.iter().filter(|gate| !gate.trim().is_empty()) {
            let is_one = gate.split_once('=').is_some_and(|(name, on)| !name.is_empty() && on.parse::<Bool>().is_ok());
            if !is_one {
                return Err(exit::Usage(format!("--feature-gates {gate}: want NAME=true or NAME=false")).into());
            }
            note!("--feature-gates {gate}: has no effect; ignored");
        }
        let any = |count: usize| if count == 0 { usize::MAX } else { count };
        let limits = &mut options.limits;
        limits.reads = self.max_requests_inflight.map_or(limits.reads, any);
        limits.writes = self.max_mutating_requests_inflight.map_or(limits.writes, any);
        limits.watch_seconds = self.min_request_timeout.unwrap_or(limits.watch_seconds);
        if let Some(text) = &self.request_timeout {
            limits.request_seconds = seconds("--request-timeout", text)?;
        }
        if let Some(text) = &self.event_ttl {
            options.event_seconds = i64::try_from(seconds("--event-ttl", text)?).unwrap_or(i64::MAX);
        }
        options.etcd_prefix = self.etcd_prefix.as_deref().map(prefix).transpose()?;
        if let Some(range) = &self.service_node_port_range {
            options.service_node_port_range = ports(range)?;
        }
        let tolerations = &mut options.default_tolerations;
        tolerations.not_ready = self.default_not_ready_toleration_seconds.unwrap_or(tolerations.not_ready);
        tolerations.unreachable = self.default_unreachable_toleration_seconds.unwrap_or(tolerations.unreachable);
        Ok(())
    }

    /// The minimum TLS version.
    pub(crate) fn oldest_tls(&self) -> Result<OldestTls> {
        match self.tls_min_version.as_deref() {
            // Versions before 1.2 are not supported, so these values mean 1.2.
            None | Some("VersionTLS10" | "VersionTLS11" | "VersionTLS12") => Ok(OldestTls::Tls12),
            Some("VersionTLS13") => Ok(OldestTls::Tls13),
            Some(other) => Err(exit::Usage(format!("--tls-min-version: unknown tls version {other:?}")).into()),
        }
    }
}

/// A boolean flag value in Go's syntax.
struct Bool;

impl std::str::FromStr for Bool {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"];
        known.contains(&text).then_some(Self).ok_or(())
    }
}

fn seconds(flag: &str, text: &str) -> Result<u64> {
    let refused = || exit::Usage(format!("{flag} {text}: want a duration of a second or more, such as 1m0s"));
    let duration = parse_duration(text).ok_or_else(refused)?;
    Ok(Some(duration.as_secs()).filter(|seconds| *seconds > 0).ok_or_else(refused)?)
}

/// A key prefix with a leading slash and without a trailing slash.
fn prefix(text: &str) -> Result<String> {
    let trimmed = text.trim_matches('/');
    if trimmed.is_empty() {
        Err(exit::Usage(format!("--etcd-prefix {text:?}: want a folder, such as /registry")).into())
    } else {
        Ok(format!("/{trimmed}"))
    }
}

/// Ports as `30000-32767`, `30000+100` or a single one. In Kubernetes: `PortRange.Set`.
fn ports(text: &str) -> Result<(u16, u16)> {
    let refused = || exit::Usage(format!("--service-node-port-range {text}: want FIRST-LAST, such as 30000-32767"));
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let range = match (text.split_once('-'), text.split_once('+')) {
        (Some((first, last)), _) => number(first).zip(number(last)),
        (None, Some((first, more))) => {
            number(first).zip(number(more)).map(|(first, more)| (first, first.saturating_add(more)))
        }
        (None, None) => number(text).map(|port| (port, port)),
    };
    Ok(range.filter(|(first, last)| first <= last && *first > 0).ok_or_else(refused)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ports_and_folders_are_read_as_kubernetes_reads_them() {
        assert_eq!(ports("30000-30100").unwrap(), (30000, 30100));
        assert_eq!(ports("30000+100").unwrap(), (30000, 30100));
        assert_eq!(ports("30000").unwrap(), (30000, 30000));
        for wrong in ["", "a-b", "2-1", "0-5", "1-70000"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
        assert_eq!(prefix("registry/a/").unwrap(), "/registry/a");
        assert!(prefix("/").is_err());
    }

    #[test]
    fn flags_set_the_servers_configuration_and_defaults_change_nothing() {
        let (mut options, default) = (ApiServerOptions::default(), ApiServerOptions::default());
        ApiFlags::default().set(&mut options).unwrap();
        assert_eq!((options.limits, options.event_seconds), (default.limits, default.event_seconds));
        let flags = ApiFlags {
            max_requests_inflight: Some(0),
            request_timeout: Some("1m30s".to_owned()),
            event_ttl: Some("2h".to_owned()),
            default_not_ready_toleration_seconds: Some(7),
            ..ApiFlags::default()
        };
        flags.set(&mut options).unwrap();
        assert_eq!(
            (options.limits.reads, options.limits.request_seconds, options.event_seconds),
            (usize::MAX, 90, 7200)
        );
        assert_eq!((options.default_tolerations.not_ready, options.default_tolerations.unreachable), (7, 300));
        let wrong = ApiFlags { event_ttl: Some("soon".to_owned()), ..ApiFlags::default() };
        assert!(wrong.set(&mut options).is_err());
    }
}
