use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::commands::env::StateArgs;
use crate::exit;

/// Runs kubectl against the cluster.
#[derive(Debug, Args)]
pub(crate) struct Kubectl {
    #[command(flatten)]
    state: StateArgs,
    /// The arguments of kubectl
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Kubectl {
    pub(crate) fn run(self) -> Result<u8> {
        let kubeconfig = self.state.kubeconfig()?;
        let error = Command::new("kubectl").args(&self.arguments).env("KUBECONFIG", kubeconfig).exec();
        Err(exit::Usage(format!("cannot run kubectl: {error}; is it installed and on the PATH?")).into())
    }
}
