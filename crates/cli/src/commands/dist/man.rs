use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use crate::exit;

/// Writes the manual pages.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder for the pages
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<u8> {
        let Self { out } = self;
        std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        let written = clap_mangen::generate_to(crate::Arguments::command(), &out);
        written.with_context(|| format!("cannot write the pages to {}", out.display()))?;
        Ok(exit::PASS)
    }
}
