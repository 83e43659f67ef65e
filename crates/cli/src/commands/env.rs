use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::exit;
use crate::output::out;
use crate::state::StateFolder;

/// Prints the environment of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Env {
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// Print the variables for envtest instead: each test suite then starts its own control plane of Coracle, so no
    /// cluster has to run
    #[arg(long)]
    envtest: bool,
}

/// The location of a cluster's state.
#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// The state folder of the cluster [default: the nearest .coracle in the working directory or above]
    #[arg(long, env = "CORACLE_STATE_DIR", value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl StateArgs {
    /// The arguments for this folder.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { state_dir: Some(folder) }
    }

    pub(crate) fn folder(&self) -> StateFolder {
        StateFolder::named(self.state_dir.as_deref())
    }

    /// The kubeconfig of the running cluster.
    ///
    /// # Errors
    /// If no cluster is running; the message contains a hint.
    pub(crate) fn kubeconfig(&self) -> Result<PathBuf> {
        let folder = self.folder();
        if folder.running().is_none() {
            return Err(exit::Usage(folder.nothing_runs()).into());
        }
        Ok(std::path::absolute(folder.kubeconfig())?)
    }
}

impl Env {
    pub(crate) fn run(self) -> Result<u8> {
        if self.envtest {
            let assets = self.state.folder().assets()?;
            out!("unset USE_EXISTING_CLUSTER")?;
            out!("export KUBEBUILDER_ASSETS='{}'", assets.display())?;
            return Ok(exit::PASS);
        }
        out!("export KUBECONFIG='{}'", self.state.kubeconfig()?.display())?;
        out!("export USE_EXISTING_CLUSTER=true")?;
        Ok(exit::PASS)
    }
}
