use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{exit, output};

/// Prints a completion script.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self) -> Result<u8> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Arguments::command(), "coracle", &mut script);
        output::text(&String::from_utf8(script)?)?;
        Ok(exit::PASS)
    }
}
