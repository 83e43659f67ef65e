mod envtest;
mod man;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Writes files from which others install Coracle.
#[derive(Debug, Args)]
pub(crate) struct DistCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write an index for setup-envtest and archives with Coracle as kube-apiserver and etcd, one for each release of
    /// Kubernetes
    Envtest(envtest::Envtest),
    /// Write the manual pages, one for each command
    Man(man::Man),
}

impl DistCommand {
    pub(crate) fn run(self) -> Result<u8> {
        match self.action {
            Action::Envtest(command) => command.run(),
            Action::Man(command) => command.run(),
        }
    }
}
