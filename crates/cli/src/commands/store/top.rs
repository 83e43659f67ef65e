use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use coracle_store::{Store, StoreStatus};
use tokio::time::sleep;

use crate::commands::store::tls_flags::Endpoints;
use crate::exit;
use crate::output::exact;

/// Shows the activity of a store.
#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    endpoints: Endpoints,
    /// The number of seconds between two lines
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    interval: u64,
    /// The number of lines; without it, print until Ctrl-C
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
}

impl Top {
    pub(crate) async fn run(self) -> Result<u8> {
        let store = self.endpoints.servers()?.connect().await?;
        exact!(
            "{:>12} {:>9} {:>9} {:>9} {:>8} {:>5} {:>9} {:>9}  {:<8} alarms",
            "revision",
            "writes/s",
            "size MiB",
            "live MiB",
            "watches",
            "slow",
            "fsync ms",
            "commit ms",
            "version"
        )?;
        let mut before: Option<Look> = None;
        for line in 0_u64.. {
            if self.lines == Some(line) {
                break;
            }
            // An etcd without TLS does not serve metrics on this connection.
            let look = Look { status: store.status().await?, metrics: store.metrics().await.unwrap_or_default() };
            exact!("{}", row(&look, before.as_ref(), self.interval))?;
            before = Some(look);
            sleep(Duration::from_secs(self.interval.max(1))).await;
        }
        Ok(exit::PASS)
    }
}

/// The status and metrics of a store at one moment.
struct Look {
    status: StoreStatus,
    metrics: BTreeMap<String, f64>,
}

impl Look {
    /// A metric value, or a dash if the store does not report it.
    fn number(&self, name: &str) -> String {
        self.metrics.get(name).map_or("-".to_owned(), f64::to_string)
    }

    /// The mean of a histogram's values since the previous look, in milliseconds.
    fn mean(&self, histogram: &str, before: Option<&Look>) -> String {
        let grown = |part: &str| {
            let name = format!("{histogram}_{part}");
            let earlier = before.and_then(|look| look.metrics.get(&name)).copied().unwrap_or(0.0);
            Some(self.metrics.get(&name)? - earlier)
        };
        match (grown("sum"), grown("count")) {
            (Some(sum), Some(count)) if count > 0.0 => format!("{:.2}", sum / count * 1000.0),
            _ => "-".to_owned(),
        }
    }
}

fn row(look: &Look, before: Option<&Look>, interval: u64) -> String {
    let status = &look.status;
    let rate = before.map_or(0.0, |before| (status.revision - before.status.revision) as f64 / interval.max(1) as f64);
    let mib = |bytes: i64| bytes as f64 / f64::from(1 << 20);
    let alarms = if status.no_space { "NOSPACE" } else { "none" };
    format!(
        "{:>12} {rate:>9.0} {:>9.1} {:>9.1} {:>8} {:>5} {:>9} {:>9}  {:<8} {alarms}",
        status.revision,
        mib(status.size_bytes),
        mib(status.size_in_use_bytes),
        look.number("etcd_debugging_mvcc_watcher_total"),
        look.number("etcd_debugging_mvcc_slow_watcher_total"),
        look.mean("etcd_disk_wal_fsync_duration_seconds", before),
        look.mean("etcd_disk_backend_commit_duration_seconds", before),
        status.version,
    )
}
