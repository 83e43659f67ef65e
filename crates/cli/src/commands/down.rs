use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use crate::commands::env::StateArgs;
use crate::exit;
use crate::output::out;
use crate::progress::Progress;
use crate::state::StateFolder;

/// How long a cluster may take to stop.
const PATIENCE: Duration = Duration::from_secs(15);

/// Stops a cluster.
#[derive(Debug, Args)]
pub(crate) struct Down {
    #[command(flatten)]
    state: StateArgs,
}

impl Down {
    pub(crate) fn run(self) -> Result<u8> {
        let folder = self.state.folder();
        let Some(process) = folder.running().and_then(Pid::from_raw) else {
            out!("no cluster runs in {}", folder.path().display())?;
            return Ok(exit::PASS);
        };
        let left = left(&folder);
        kill_process(process, Signal::TERM).context("the cluster's process cannot be signalled")?;
        let _stopping = Progress::of("stopping the cluster");
        let step = Duration::from_millis(20);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            if folder.running().is_none() {
                out!("stopped; {left}")?;
                return Ok(exit::PASS);
            }
            #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
            std::thread::sleep(step);
        }
        anyhow::bail!("process {} has not stopped within {} s", process.as_raw_nonzero(), PATIENCE.as_secs())
    }
}

/// What a running cluster leaves when it stops.
fn left(folder: &StateFolder) -> String {
    match (folder.is_ephemeral(), folder.data().exists()) {
        (false, _) => format!("the state is kept in {}", folder.path().display()),
        (true, false) => "its objects were in memory, and are gone".to_owned(),
        (true, true) => format!(
            "its objects were in memory, and are gone; those of an earlier cluster are kept in {}",
            folder.data().display()
        ),
    }
}
