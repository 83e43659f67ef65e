use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_client::Https;

use crate::exit;
use crate::kubeconfig_file::connect;
use crate::output::exact;
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
    #[arg(long, env = "CORACLE_STATE_DIR", value_name = "DIR", global = true)]
    state_dir: Option<PathBuf>,
}

/// The cluster with which a command works.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    state: StateArgs,
    /// The kubeconfig of the cluster, instead of the one in the state folder
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,
}

impl ClusterArgs {
    /// The state folder of the cluster.
    pub(crate) fn folder(&self) -> StateFolder {
        self.state.folder()
    }

    /// The API server, with the credentials of the kubeconfig.
    pub(crate) fn connect(&self) -> Result<Https> {
        self.state.connect(self.kubeconfig.as_deref())
    }
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

    /// The API server of a kubeconfig, by default that of the running cluster.
    pub(crate) fn connect(&self, kubeconfig: Option<&Path>) -> Result<Https> {
        match kubeconfig {
            Some(file) => connect(file),
            None => connect(&self.kubeconfig()?),
        }
    }
}

impl Env {
    pub(crate) fn run(self) -> Result<u8> {
        if self.envtest {
            let assets = self.state.folder().assets()?;
            exact!("unset USE_EXISTING_CLUSTER")?;
            exact!("export KUBEBUILDER_ASSETS='{}'", assets.display())?;
            return Ok(exit::PASS);
        }
        exact!("export KUBECONFIG='{}'", self.state.kubeconfig()?.display())?;
        exact!("export USE_EXISTING_CLUSTER=true")?;
        Ok(exit::PASS)
    }
}
