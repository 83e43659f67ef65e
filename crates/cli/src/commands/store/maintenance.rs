use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use coracle_store::Error;
use coracle_store::disk::{self, Report};

use crate::commands::store::tls_flags::Endpoints;
use crate::exit;
use crate::output::{note, out};

/// Maintenance of a store's data: of a folder that no store serves. A backup can also be made of a running store.
#[derive(Debug, Subcommand)]
pub(crate) enum Maintenance {
    /// Read all data and report whether it is intact
    Check {
        /// The data folder
        dir: PathBuf,
    },
    /// Write all data to one file: `backup DIR FILE`, or `backup --endpoints URL FILE` for a running store or etcd
    Backup {
        /// The data folder (not with --endpoints), and the file, which must not exist
        #[arg(value_names = ["DIR", "FILE"], num_args = 1..=2, required = true)]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        endpoints: Endpoints,
    },
    /// Create a data folder from a backup
    Restore {
        /// The backup
        file: PathBuf,
        /// The data folder, which must not be in use
        dir: PathBuf,
        /// The last revision to restore; without it, all revisions of the backup
        #[arg(long, value_name = "N")]
        revision: Option<i64>,
    },
    /// Return space that compaction freed to the file system
    Defrag {
        /// The data folder
        dir: PathBuf,
    },
}

impl Maintenance {
    pub(crate) async fn run(self) -> Result<u8> {
        match self {
            Self::Check { dir } => tell(&format!("{}: whole", dir.display()), disk::check(&dir)),
            Self::Backup { paths, endpoints } => match (&paths[..], endpoints.are_named()) {
                ([file], true) => {
                    let live = disk::LiveData::read(&endpoints.servers()?.connect().await?).await;
                    tell(&written(file), live.and_then(|live| live.write(file)))
                }
                ([dir, file], false) => tell(&written(file), disk::backup(dir, file)),
                _ => Err(exit::Usage("backup needs DIR and FILE, or --endpoints and FILE".to_owned()).into()),
            },
            Self::Restore { file, dir, revision } => {
                tell(&format!("{}: restored", dir.display()), disk::restore(&file, &dir, revision))
            }
            Self::Defrag { dir } => tell(&format!("{}: rewritten", dir.display()), disk::defragment(&dir)),
        }
    }
}

fn written(file: &Path) -> String {
    format!("{}: written", file.display())
}

fn tell(done: &str, outcome: std::result::Result<Report, Error>) -> Result<u8> {
    Ok(match outcome {
        Ok(Report { records, revision, compacted, size_bytes }) => {
            let history =
                if compacted > 0 { format!("compacted up to {compacted}") } else { "never compacted".to_owned() };
            out!("{done}; {records} records up to revision {revision}, {history}, {size_bytes} bytes")?;
            exit::PASS
        }
        Err(error) => {
            note!("coracle: {error}");
            match error {
                Error::Unavailable(_) | Error::NoSpace(_) => exit::FAILED,
                Error::Compacted { .. } | Error::FutureRevision { .. } => exit::USAGE,
                _ => exit::CHECK_FAILED,
            }
        }
    })
}
