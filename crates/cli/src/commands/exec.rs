use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::commands::env::StateArgs;
use crate::commands::release_flags::ReleaseFlags;
use crate::commands::up::with_a_cluster_of_its_own;
use crate::exit;
use crate::handed_on::Signals;
use crate::runtime::runtime;

/// Runs a program with KUBECONFIG set.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    state: StateArgs,
    #[command(flatten)]
    release: ReleaseFlags,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub(crate) fn run(self) -> Result<u8> {
        if let Ok(kubeconfig) = self.state.kubeconfig() {
            if self.release.is_given() {
                let why = "a cluster runs already, and keeps its release: --kubernetes and --feature-gates are for a cluster of its own";
                return Err(exit::Usage(why.to_owned()).into());
            }
            return runtime()?.block_on(async { self.child(&kubeconfig, Signals::catch()?).await });
        }
        with_a_cluster_of_its_own(&self.release, |kubeconfig, signals| self.child(kubeconfig, signals))
    }

    /// Runs the program to its end; signals are forwarded to it.
    fn child(&self, kubeconfig: &std::path::Path, signals: Signals) -> impl Future<Output = Result<u8>> + use<'_> {
        let mut child = Command::new(&self.command[0]);
        child.args(&self.command[1..]).env("KUBECONFIG", kubeconfig).env("USE_EXISTING_CLUSTER", "true");
        async move { Ok(signals.run(child).await.map_err(|error| self.cannot_run(&error))?) }
    }

    fn cannot_run(&self, error: &std::io::Error) -> exit::Usage {
        exit::Usage(format!("cannot run `{}`: {error}", self.command[0]))
    }
}
