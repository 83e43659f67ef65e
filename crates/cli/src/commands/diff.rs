use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_viewer::{Format, RunPair, WriteError, differ};

use super::story::whole_run_of;
use crate::output::{self, out};
use crate::{exit, reports};

/// Compares two runs.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// An events file, as written by `coracle run --events FILE`, or a report that ends with .html
    one: PathBuf,
    /// The other one
    other: PathBuf,
    /// Write a page (.html) that shows both runs above each other from the first difference
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Diff {
    pub(crate) fn run(self) -> Result<u8> {
        if let Some(path) = &self.report {
            check_page(path)?;
        }
        let (one, other) = (whole_run_of(&self.one)?, whole_run_of(&self.other)?);
        let both = RunPair::of(&one, &other, ["first", "second"]);
        out!("first   {}\nsecond  {}\n", self.one.display(), self.other.display())?;
        output::shown(&differ(&both))?;
        if let Some(path) = &self.report {
            coracle_viewer::write_pair(&both, path)?;
            out!("\nreport {}", path.display())?;
        }
        Ok(if both.divergence.is_same() { exit::PASS } else { exit::CHECK_FAILED })
    }
}

/// Comparisons of two runs, and lessons, have only the page format.
pub(super) fn check_page(path: &Path) -> Result<(), exit::Usage> {
    match Format::of(path) {
        Ok(Format::Html) => reports::check_folder("--report", path),
        _ => Err(exit::Usage(format!("--report {}", WriteError::NotAPage(path.display().to_string())))),
    }
}
