use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use coracle_ambient::Ambient;
use coracle_cluster::StoreSpec;
use coracle_journal::Recorder;

use crate::commands::up::runtime;
use crate::exit;
use crate::interrupt::interrupted;

/// Runs the store alone, or looks after its data. The flags are etcd's.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    care: Option<Care>,
    #[command(flatten)]
    serve: Serve,
}

/// Serves a store.
#[derive(Debug, Args)]
struct Serve {
    /// The folder of the data; without it, the store lives in memory
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where to listen
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2379")]
    listen_client_urls: String,
}

/// What can be done to a store's data while it is not served.
#[derive(Debug, Subcommand)]
enum Care {
    /// Read all data and say whether it is whole
    Check {
        /// The folder of the data
        dir: PathBuf,
    },
}

impl StoreCommand {
    pub(crate) fn run(self) -> Result<u8> {
        match self.care {
            Some(Care::Check { dir }) => check(&dir),
            None => runtime()?.block_on(self.serve.run()),
        }
    }
}

impl Serve {
    async fn run(self) -> Result<u8> {
        let spec = self.data_dir.map_or(StoreSpec::Memory, StoreSpec::Sled);
        let store = spec.open(&Ambient::system(), &Recorder::off()).await?;
        let listener = coracle_cluster::serve::StoreListener::bind(&self.listen_client_urls)
            .await
            .map_err(|error| exit::Usage(format!("--listen-client-urls: {error}")))?;
        println!("store ready at {}", listener.url());
        let mut code = exit::PASS;
        let stop = async { code = interrupted().await };
        listener.serve(&store, stop).await;
        store.close().await;
        Ok(code)
    }
}

fn check(dir: &std::path::Path) -> Result<u8> {
    match coracle_store::disk::check(dir) {
        Ok(report) => {
            println!(
                "{}: whole; {} records up to revision {}, compacted up to {}, {} bytes",
                dir.display(),
                report.records,
                report.revision,
                report.compacted,
                report.size_bytes
            );
            Ok(exit::PASS)
        }
        Err(error) => {
            eprintln!("coracle: {error}");
            Ok(exit::CHECK_FAILED)
        }
    }
}
