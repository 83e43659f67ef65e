use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::commands::env::StateArgs;
use crate::{exit, snapshot};

/// Saves a cluster that does not run into a file, or makes one of such a file.
#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write what the cluster holds, and who it is, into a new file; it must have been stopped
    Save(Flags),
    /// Make a cluster of a file, in a state folder that holds nothing yet
    Restore(Flags),
}

#[derive(Debug, Args)]
struct Flags {
    #[command(flatten)]
    state: StateArgs,
    /// The snapshot; it holds keys, so keep it as you keep those
    file: PathBuf,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<u8> {
        let (Action::Save(flags) | Action::Restore(flags)) = &self.action;
        let (folder, file) = (flags.state.folder(), flags.file.display());
        let shown = folder.path().display().to_string();
        let done = match self.action {
            Action::Save(_) => {
                snapshot::save(&folder, &flags.file).map(|report| (format!("{shown} is saved in {file}"), report))
            }
            Action::Restore(_) => snapshot::restore(&flags.file, &folder)
                .map(|report| (format!("{shown} is restored; start it with `coracle up`"), report)),
        };
        let (said, report) = done.map_err(|error| exit::Usage(format!("{error:#}")))?;
        println!("{said}: revision {}, {} records", report.revision, report.records);
        Ok(exit::PASS)
    }
}
