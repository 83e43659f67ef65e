use std::process::ExitStatus;

use anyhow::Result;
use clap::Args;

use crate::commands::env::StateArgs;
use crate::exit;

/// Runs a program with KUBECONFIG set.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    state: StateArgs,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub(crate) fn run(self) -> Result<u8> {
        if let Ok(kubeconfig) = self.state.kubeconfig() {
            let mut child = self.child(&kubeconfig);
            let status = child.status().map_err(|error| self.cannot_run(&error))?;
            return Ok(code(status));
        }
        crate::commands::up::with_a_cluster_of_its_own(|kubeconfig| {
            let mut child = tokio::process::Command::from(self.child(kubeconfig));
            child.kill_on_drop(true);
            async move {
                let status = child.status().await.map_err(|error| self.cannot_run(&error))?;
                Ok(code(status))
            }
        })
    }

    fn child(&self, kubeconfig: &std::path::Path) -> std::process::Command {
        let mut child = std::process::Command::new(&self.command[0]);
        child.args(&self.command[1..]).env("KUBECONFIG", kubeconfig).env("USE_EXISTING_CLUSTER", "true");
        child
    }

    fn cannot_run(&self, error: &std::io::Error) -> exit::Usage {
        exit::Usage(format!("cannot run `{}`: {error}", self.command[0]))
    }
}

/// The child's own exit code; 128 and the signal's number if it was killed, as shells say it.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(i32::from(exit::FAILED));
    u8::try_from(code & 0xff).unwrap_or(exit::FAILED)
}
