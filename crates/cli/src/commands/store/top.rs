use std::time::Duration;

use anyhow::Result;
use clap::Args;
use coracle_ambient::Ambient;
use coracle_cluster::{StoreOptions, StoreSpec};
use coracle_journal::Recorder;
use coracle_store::StoreStatus;
use tokio::time::sleep;

use crate::commands::store::tls_flags::Endpoints;
use crate::exit;

/// Shows what a store is doing.
#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    endpoints: Endpoints,
    /// How many seconds between two lines
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    interval: u64,
    /// How many lines; without it, until Ctrl-C
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
}

impl Top {
    pub(crate) async fn run(self) -> Result<u8> {
        // Whoever looks changes nothing.
        let looking = StoreOptions { compaction: None, ..StoreOptions::default() };
        let spec = StoreSpec::Etcd(self.endpoints.servers()?);
        let store = spec.open_with(&Ambient::system(), &Recorder::off(), looking).await?;
        println!(
            "{:>12} {:>10} {:>10} {:>10}  {:<8} alarms",
            "revision", "writes/s", "size MiB", "live MiB", "version"
        );
        let mut before: Option<i64> = None;
        for line in 0_u64.. {
            if self.lines == Some(line) {
                break;
            }
            let status = store.store.status().await?;
            println!("{}", row(&status, before, self.interval));
            before = Some(status.revision);
            sleep(Duration::from_secs(self.interval.max(1))).await;
        }
        Ok(exit::PASS)
    }
}

fn row(status: &StoreStatus, before: Option<i64>, interval: u64) -> String {
    let rate = before.map_or(0.0, |before| (status.revision - before) as f64 / interval.max(1) as f64);
    let mib = |bytes: i64| bytes as f64 / f64::from(1 << 20);
    let alarms = if status.no_space { "NOSPACE" } else { "none" };
    let (size, live) = (mib(status.size_bytes), mib(status.size_in_use_bytes));
    format!("{:>12} {rate:>10.0} {size:>10.1} {live:>10.1}  {:<8} {alarms}", status.revision, status.version)
}
