use std::path::PathBuf;

use clap::Subcommand;
use coracle_store::Error;
use coracle_store::disk::{self, Report};

use crate::exit;

/// What can be done to a store's data while it is not served.
#[derive(Debug, Subcommand)]
pub(crate) enum Care {
    /// Read all data and say whether it is whole
    Check {
        /// The folder of the data
        dir: PathBuf,
    },
    /// Write all data to one file
    Backup {
        /// The folder of the data
        dir: PathBuf,
        /// The file, which must not exist yet
        file: PathBuf,
    },
    /// Make a folder out of a backup
    Restore {
        /// The backup
        file: PathBuf,
        /// The folder, which must not be in use
        dir: PathBuf,
        /// The revision to end at; without it, all that the backup has
        #[arg(long, value_name = "N")]
        revision: Option<i64>,
    },
    /// Give space that compaction freed back to the file system
    Defrag {
        /// The folder of the data
        dir: PathBuf,
    },
}

impl Care {
    pub(crate) fn run(self) -> u8 {
        match self {
            Self::Check { dir } => tell(&format!("{}: whole", dir.display()), disk::check(&dir)),
            Self::Backup { dir, file } => tell(&format!("{}: written", file.display()), disk::backup(&dir, &file)),
            Self::Restore { file, dir, revision } => {
                tell(&format!("{}: restored", dir.display()), disk::restore(&file, &dir, revision))
            }
            Self::Defrag { dir } => tell(&format!("{}: rewritten", dir.display()), disk::defragment(&dir)),
        }
    }
}

fn tell(done: &str, outcome: Result<Report, Error>) -> u8 {
    match outcome {
        Ok(Report { records, revision, compacted, size_bytes }) => {
            let history =
                if compacted > 0 { format!("compacted up to {compacted}") } else { "never compacted".to_owned() };
            println!("{done}; {records} records up to revision {revision}, {history}, {size_bytes} bytes");
            exit::PASS
        }
        Err(error) => {
            eprintln!("coracle: {error}");
            match error {
                Error::Unavailable(_) | Error::NoSpace => exit::FAILED,
                Error::Compacted { .. } | Error::FutureRevision { .. } => exit::USAGE,
                _ => exit::CHECK_FAILED,
            }
        }
    }
}
