use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit;

/// Prints a completion script.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self) -> Result<u8> {
        clap_complete::generate(self.shell, &mut crate::Arguments::command(), "coracle", &mut std::io::stdout());
        Ok(exit::PASS)
    }
}
