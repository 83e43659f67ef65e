use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use coracle_journal::Recorder;
use coracle_scenario::Telling;

use crate::exit;

/// Tells what a deletion, or any object, set in motion.
#[derive(Debug, Args)]
pub(crate) struct Story {
    /// An events file, as written by `coracle run --events FILE`
    events: PathBuf,
    /// The object to begin with, as in `pods/default/web-1`; without it, the first deletion somebody asked for
    object: Option<String>,
    /// Tell every entry of the log that is on the way, not only the steps
    #[arg(short, long)]
    verbose: bool,
}

impl Story {
    pub(crate) fn run(self) -> Result<u8> {
        let entries = Recorder::read(&self.events).map_err(|error| exit::Usage(chain(&error)))?;
        let telling = if self.verbose { Telling::Everything } else { Telling::Steps };
        match coracle_scenario::story(&entries, self.object.as_deref(), telling) {
            Ok(story) => {
                print!("{story}");
                Ok(exit::PASS)
            }
            Err(nothing) => {
                eprintln!("coracle: {}: {nothing}", self.events.display());
                Ok(exit::NOTHING_MATCHED)
            }
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
