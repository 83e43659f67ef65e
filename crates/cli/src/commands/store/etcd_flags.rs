use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use coracle_cluster::StoreOptions;
use coracle_secure_serving::{FaceOptions, StoreTls};
use coracle_store::{AutoCompaction, Limits};

use crate::commands::store::tls_flags::TlsFlags;
use crate::exit;
use crate::output::note;

/// etcd's flags, as people and test tools pass them.
#[derive(Debug, Args)]
pub(crate) struct EtcdFlags {
    /// The data folder; without it, the data is in memory
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The URLs to listen on
    #[arg(long, value_name = "URL", value_delimiter = ',', default_value = "http://127.0.0.1:2379")]
    pub(crate) listen_client_urls: Vec<String>,
    /// The URLs that the store advertises to clients; by default the URLs that it listens on
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    advertise_client_urls: Vec<String>,
    /// The name of the only member
    #[arg(long, default_value = "default")]
    name: String,
    /// Acknowledge writes before they are on disk: faster, but a power failure can lose them
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    unsafe_no_fsync: bool,
    /// The maximum size of a request in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().request_bytes)]
    max_request_bytes: usize,
    /// The maximum number of operations in a transaction
    #[arg(long, value_name = "N", default_value_t = Limits::default().txn_operations)]
    max_txn_ops: usize,
    /// The unit of the retention: periodic (time) or revision
    #[arg(long, value_name = "MODE", default_value = "periodic")]
    auto_compaction_mode: String,
    /// How much history the store keeps: 5m, 1h (a number alone means hours), or a number of revisions; 0 for all
    #[arg(long, value_name = "RETENTION", default_value = "0")]
    auto_compaction_retention: String,
    /// How long a watch with progress notifications is idle before the store sends one
    #[arg(long, alias = "experimental-watch-progress-notify-interval", value_name = "DURATION", default_value = "10m")]
    watch_progress_notify_interval: String,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    meaningless: Meaningless,
}

/// Flags of features that the store does not have: other members, etcd's write-ahead log, etcd's logs. They are
/// accepted so that tools that pass them work, and have no effect.
#[derive(Debug, Args)]
struct Meaningless {
    #[arg(long, hide = true)]
    listen_peer_urls: Option<String>,
    #[arg(long, hide = true)]
    initial_advertise_peer_urls: Option<String>,
    #[arg(long, hide = true)]
    initial_cluster: Option<String>,
    #[arg(long, hide = true)]
    initial_cluster_state: Option<String>,
    #[arg(long, hide = true)]
    initial_cluster_token: Option<String>,
    #[arg(long, hide = true)]
    snapshot_count: Option<String>,
    #[arg(long, hide = true)]
    heartbeat_interval: Option<String>,
    #[arg(long, hide = true)]
    election_timeout: Option<String>,
    #[arg(long, hide = true)]
    quota_backend_bytes: Option<String>,
    #[arg(long, hide = true)]
    peer_cert_file: Option<String>,
    #[arg(long, hide = true)]
    peer_key_file: Option<String>,
    #[arg(long, hide = true)]
    peer_trusted_ca_file: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    peer_client_cert_auth: Option<String>,
    #[arg(long, hide = true)]
    log_level: Option<String>,
    #[arg(long, hide = true)]
    logger: Option<String>,
    #[arg(long, hide = true)]
    log_outputs: Option<String>,
}

impl EtcdFlags {
    /// Prints one warning with the names of flags without effect.
    pub(crate) fn warn_of_what_means_nothing_here(&self) {
        let Meaningless {
            listen_peer_urls,
            initial_advertise_peer_urls,
            initial_cluster,
            initial_cluster_state,
            initial_cluster_token,
            snapshot_count,
            heartbeat_interval,
            election_timeout,
            quota_backend_bytes,
            peer_cert_file,
            peer_key_file,
            peer_trusted_ca_file,
            peer_client_cert_auth,
            log_level,
            logger,
            log_outputs,
        } = &self.meaningless;
        let given: Vec<&str> = [
            ("--listen-peer-urls", listen_peer_urls),
            ("--initial-advertise-peer-urls", initial_advertise_peer_urls),
            ("--initial-cluster", initial_cluster),
            ("--initial-cluster-state", initial_cluster_state),
            ("--initial-cluster-token", initial_cluster_token),
            ("--snapshot-count", snapshot_count),
            ("--heartbeat-interval", heartbeat_interval),
            ("--election-timeout", election_timeout),
            ("--quota-backend-bytes", quota_backend_bytes),
            ("--peer-cert-file", peer_cert_file),
            ("--peer-key-file", peer_key_file),
            ("--peer-trusted-ca-file", peer_trusted_ca_file),
            ("--peer-client-cert-auth", peer_client_cert_auth),
            ("--log-level", log_level),
            ("--logger", logger),
            ("--log-outputs", log_outputs),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.is_some().then_some(name))
        .collect();
        if !given.is_empty() {
            let names = given.join(", ");
            note!("coracle: {names}: no effect on a store of one member without a quota; ignored");
        }
    }

    /// The TLS configuration of the server and its clients; `None` for plain HTTP.
    pub(crate) fn tls(&self) -> Result<Option<StoreTls>> {
        self.tls.read(&self.listen_client_urls)
    }

    pub(crate) fn store_options(&self) -> Result<StoreOptions> {
        let limits = Limits { request_bytes: self.max_request_bytes, txn_operations: self.max_txn_ops };
        // Only the flags limit the history, as in etcd.
        let (unsafe_no_fsync, compaction) = (self.unsafe_no_fsync, self.compaction()?);
        Ok(StoreOptions { unsafe_no_fsync, limits, compaction, history_limit: None })
    }

    pub(crate) fn face_options(&self, listening: Vec<String>) -> Result<FaceOptions> {
        let client_urls =
            if self.advertise_client_urls.is_empty() { listening } else { self.advertise_client_urls.clone() };
        let flag = "--watch-progress-notify-interval";
        Ok(FaceOptions {
            name: self.name.clone(),
            client_urls,
            progress_interval: duration(flag, &self.watch_progress_notify_interval)?,
            max_message_bytes: self.max_request_bytes + GRPC_OVERHEAD_BYTES,
        })
    }

    fn compaction(&self) -> Result<Option<AutoCompaction>> {
        const FLAG: &str = "--auto-compaction-retention";
        let retention = &self.auto_compaction_retention;
        if retention == "0" {
            return Ok(None);
        }
        match self.auto_compaction_mode.as_str() {
            "revision" => match retention.parse() {
                Ok(revisions) if revisions > 0 => Ok(Some(AutoCompaction::Revisions(revisions))),
                _ => Err(exit::Usage(format!("{FLAG}: {retention:?} is not a number of revisions")).into()),
            },
            "periodic" => match retention.parse::<u64>() {
                Ok(hours) => Ok(Some(AutoCompaction::Periodic(Duration::from_secs(hours * 3600)))),
                Err(_) => Ok(Some(AutoCompaction::Periodic(duration(FLAG, retention)?))),
            },
            mode => {
                Err(exit::Usage(format!("--auto-compaction-mode: {mode:?} is neither periodic nor revision")).into())
            }
        }
    }
}

/// How much larger a message may be than the request in it. In Kubernetes: etcd's `grpcOverheadBytes`.
const GRPC_OVERHEAD_BYTES: usize = 512 * 1024;

/// Parses a duration in Go's format: `5m`, `1h30m`, `500ms`.
fn duration(flag: &str, text: &str) -> Result<Duration> {
    let span = coracle_meta::parse_duration(text).filter(|span| !span.is_zero());
    span.ok_or_else(|| exit::Usage(format!("{flag}: {text:?} is not a duration such as 5m, 1h30m or 500ms")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        let read = |text| duration("--flag", text).map_err(|error| error.to_string());
        assert_eq!(read("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(read("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(read("500ms"), Ok(Duration::from_millis(500)));
        assert!(["", "5", "m", "5 m", "-5m", "5y", "0s"].into_iter().all(|text| read(text).is_err()));
    }
}
