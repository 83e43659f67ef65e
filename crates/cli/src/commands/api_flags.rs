use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use coracle_cluster::{ApiServerOptions, RuntimeConfig};
use coracle_meta::parse_duration;
use coracle_release::Release;
use coracle_tls::OldestTls;

use crate::commands::release_flags::ReleaseFlags;
use crate::descriptions::Included;
use crate::exit;

/// kube-apiserver's flags that have the same meaning and the same default wherever an API server runs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ApiFlags {
    /// Groups, versions and resources to enable or disable: apps/v1=false,api/all=true
    #[arg(long, value_name = "KEY=BOOL,...")]
    runtime_config: Vec<String>,
    #[command(flatten)]
    release: ReleaseFlags,
    /// The maximum number of non-mutating requests in flight; 0 for no limit
    #[arg(long, value_name = "COUNT")]
    max_requests_inflight: Option<usize>,
    /// The maximum number of mutating requests in flight; 0 for no limit
    #[arg(long, value_name = "COUNT")]
    max_mutating_requests_inflight: Option<usize>,
    /// The timeout of a request; streams have none
    #[arg(long, value_name = "DURATION", value_parser = a_second_or_more)]
    request_timeout: Option<Duration>,
    /// The minimum number of seconds after which the server ends a watch that sets no timeout
    #[arg(long, value_name = "SECONDS")]
    min_request_timeout: Option<u64>,
    /// How long the server keeps Events
    #[arg(long, value_name = "DURATION", value_parser = a_second_or_more)]
    event_ttl: Option<Duration>,
    /// The prefix of all keys in the store
    #[arg(long, value_name = "PATH", value_parser = prefix)]
    etcd_prefix: Option<String>,
    /// The range of node ports of Services: FIRST-LAST
    #[arg(long, value_name = "RANGE", value_parser = ports)]
    service_node_port_range: Option<Ports>,
    /// The minimum TLS version: VersionTLS12 or VersionTLS13
    #[arg(long, value_name = "VERSION", value_parser = tls_version)]
    tls_min_version: Option<OldestTls>,
    /// The tolerationSeconds for notReady:NoExecute of pods that have no such toleration
    #[arg(long, value_name = "SECONDS")]
    default_not_ready_toleration_seconds: Option<i64>,
    /// The tolerationSeconds for unreachable:NoExecute of pods that have no such toleration
    #[arg(long, value_name = "SECONDS")]
    default_unreachable_toleration_seconds: Option<i64>,
}

impl ApiFlags {
    /// Sets the flags of the release.
    pub(crate) fn choose(&mut self, release: &ReleaseFlags) {
        self.release = release.clone();
    }

    /// The release, with switched feature gates.
    ///
    /// # Errors
    /// If there is no such release, or if it does not have a gate.
    pub(crate) fn release(&self) -> Result<Release> {
        self.release.release()
    }

    /// Applies the flags to `options`.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        let config = RuntimeConfig::parse(&self.runtime_config.join(","));
        options.runtime_config = config.map_err(|error| exit::Usage(error.to_string()))?;
        options.release = self.release.noted()?;
        options.descriptions = Arc::new(Included::of(&options.release));
        let any = |count: usize| if count == 0 { usize::MAX } else { count };
        let limits = &mut options.limits;
        limits.reads = self.max_requests_inflight.map_or(limits.reads, any);
        limits.writes = self.max_mutating_requests_inflight.map_or(limits.writes, any);
        limits.watch_seconds = self.min_request_timeout.unwrap_or(limits.watch_seconds);
        limits.request_seconds = self.request_timeout.map_or(limits.request_seconds, |timeout| timeout.as_secs());
        if let Some(ttl) = self.event_ttl {
            options.event_seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
        }
        options.etcd_prefix.clone_from(&self.etcd_prefix);
        options.service_node_port_range = self.service_node_port_range.unwrap_or(options.service_node_port_range);
        let tolerations = &mut options.default_tolerations;
        tolerations.not_ready = self.default_not_ready_toleration_seconds.unwrap_or(tolerations.not_ready);
        tolerations.unreachable = self.default_unreachable_toleration_seconds.unwrap_or(tolerations.unreachable);
        Ok(())
    }

    /// The minimum TLS version.
    pub(crate) fn oldest_tls(&self) -> OldestTls {
        self.tls_min_version.unwrap_or(OldestTls::Tls12)
    }
}

/// The first and the last port of a range.
type Ports = (u16, u16);

fn tls_version(text: &str) -> Result<OldestTls, String> {
    match text {
        // Versions before 1.2 are not supported, so these values mean 1.2.
        "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(OldestTls::Tls12),
        "VersionTLS13" => Ok(OldestTls::Tls13),
        _ => Err("must be VersionTLS12 or VersionTLS13".to_owned()),
    }
}

fn a_second_or_more(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).filter(|span| span.as_secs() > 0);
    span.ok_or_else(|| "must be a duration of a second or more, such as 1m0s".to_owned())
}

/// A prefix of keys, with a slash at its start and none at its end.
fn prefix(text: &str) -> Result<String, String> {
    let trimmed = text.trim_matches('/');
    if trimmed.is_empty() { Err("must be a path such as /registry".to_owned()) } else { Ok(format!("/{trimmed}")) }
}

/// Parses ports as `30000-32767`, `30000+100` or a single one. In Kubernetes: `PortRange.Set`.
fn ports(text: &str) -> Result<Ports, String> {
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let range = match (text.split_once('-'), text.split_once('+')) {
        (Some((first, last)), _) => number(first).zip(number(last)),
        (None, Some((first, more))) => {
            number(first).zip(number(more)).map(|(first, more)| (first, first.saturating_add(more)))
        }
        (None, None) => number(text).map(|port| (port, port)),
    };
    let range = range.filter(|(first, last)| first <= last && *first > 0);
    range.ok_or_else(|| "must be FIRST-LAST, such as 30000-32767".to_owned())
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
            request_timeout: Some(Duration::from_secs(90)),
            event_ttl: Some(Duration::from_secs(7200)),
            default_not_ready_toleration_seconds: Some(7),
            ..ApiFlags::default()
        };
        flags.set(&mut options).unwrap();
        assert_eq!(
            (options.limits.reads, options.limits.request_seconds, options.event_seconds),
            (usize::MAX, 90, 7200)
        );
        assert_eq!((options.default_tolerations.not_ready, options.default_tolerations.unreachable), (7, 300));
        assert!(a_second_or_more("soon").is_err() && a_second_or_more("900ms").is_err());
        assert!(tls_version("VersionTLS14").is_err());
    }
}
