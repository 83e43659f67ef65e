use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use coracle_cluster::StoreOptions;
use coracle_secure_serving::{FaceOptions, StoreTls};
use coracle_store::{AutoCompaction, Limits};

use crate::commands::store::tls_flags::TlsFlags;
use crate::exit;
use crate::flags::etcd_unused::EtcdUnused;
use crate::flags::unused::Given;
use crate::flags::values::positive_duration;

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
    auto_compaction_mode: CompactionMode,
    /// How much history the store keeps: 5m, 1h (a number alone means hours), or a number of revisions; 0 for all
    #[arg(long, value_name = "RETENTION", default_value = "0")]
    auto_compaction_retention: String,
    /// How long a watch with progress notifications is idle before the store sends one
    #[arg(long, alias = "experimental-watch-progress-notify-interval", value_name = "DURATION",
        value_parser = positive_duration, default_value = "10m")]
    watch_progress_notify_interval: Duration,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsFlags,
    #[command(flatten)]
    unused: Given<EtcdUnused>,
}

/// How the retention of history is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompactionMode {
    /// By time.
    Periodic,
    /// By revisions.
    Revision,
}

impl EtcdFlags {
    /// Prints a note about flags that change nothing.
    ///
    /// # Errors
    /// If a flag is refused.
    pub(crate) fn check(&self) -> Result<(), exit::Usage> {
        self.unused.check()
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
        Ok(FaceOptions {
            name: self.name.clone(),
            client_urls,
            progress_interval: self.watch_progress_notify_interval,
            max_message_bytes: self.max_request_bytes + GRPC_OVERHEAD_BYTES,
        })
    }

    fn compaction(&self) -> Result<Option<AutoCompaction>> {
        const FLAG: &str = "--auto-compaction-retention";
        let retention = &self.auto_compaction_retention;
        if retention == "0" {
            return Ok(None);
        }
        let refused = |what| exit::Usage(format!("{FLAG}: {retention:?} is not {what}"));
        match self.auto_compaction_mode {
            CompactionMode::Revision => match retention.parse() {
                Ok(revisions) if revisions > 0 => Ok(Some(AutoCompaction::Revisions(revisions))),
                _ => Err(refused("a number of revisions").into()),
            },
            CompactionMode::Periodic => match retention.parse::<u64>() {
                Ok(hours) => Ok(Some(AutoCompaction::Periodic(Duration::from_secs(hours * 3600)))),
                Err(_) => {
                    let period = positive_duration(retention);
                    let period = period.map_err(|_| refused("a duration such as 5m, 1h30m or 500ms"))?;
                    Ok(Some(AutoCompaction::Periodic(period)))
                }
            },
        }
    }
}

/// How much larger a message may be than the request in it. In Kubernetes: etcd's `grpcOverheadBytes`.
const GRPC_OVERHEAD_BYTES: usize = 512 * 1024;
