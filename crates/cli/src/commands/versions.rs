use anyhow::Result;
use clap::Args;
use coracle_release::Release;

use crate::exit;
use crate::output::out;

/// Lists the Kubernetes releases that --kubernetes chooses from.
#[derive(Debug, Args)]
pub(crate) struct VersionsCommand {}

impl VersionsCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let Self {} = self;
        out!("{:<10} {:<12} {}", "RELEASE", "ANSWERS AS", "END OF LIFE")?;
        for release in Release::all().rev() {
            let mark = if release == Release::default() { "   default" } else { "" };
            out!("{:<10} {:<12} {}{mark}", release.version(), release.git_version(), release.end_of_life())?;
        }
        Ok(exit::PASS)
    }
}
