use anyhow::Result;
use clap::Args;
use coracle_meta::KUBERNETES_VERSION;

use crate::exit;
use crate::output::out;

/// Prints versions.
#[derive(Debug, Args)]
pub(crate) struct VersionCommand {}

impl VersionCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let Self {} = self;
        out!("coracle {}, Kubernetes {KUBERNETES_VERSION}", env!("CARGO_PKG_VERSION"))?;
        Ok(exit::PASS)
    }
}
