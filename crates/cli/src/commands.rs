//! The commands, a file each.

mod apiserver;
mod server_flags;

use anyhow::Result;
use clap::Subcommand;

/// What `coracle` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Only the API server
    Apiserver(Box<apiserver::Apiserver>),
}

impl Command {
    pub(crate) fn run(self) -> Result<u8> {
        let Self::Apiserver(command) = self;
        command.run()
    }
}
