use anyhow::Result;
use clap::Args;
use coracle_release::Release;

use crate::exit;
use crate::output::out;

/// Prints versions.
#[derive(Debug, Args)]
pub(crate) struct VersionCommand {}

impl VersionCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let Self {} = self;
        out!("coracle {}, Kubernetes {}", env!("CARGO_PKG_VERSION"), Release::default().git_version())?;
        Ok(exit::PASS)
    }
}
