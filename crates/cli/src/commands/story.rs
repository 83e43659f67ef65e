use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use coracle_control::with_plural_kind;
use coracle_journal::{Entry, Events};
use coracle_viewer::{Columns, NotInLog, Read, Telling};

use crate::commands::env::StateArgs;
use crate::exit;
use crate::output::{self, note};
use crate::progress::Progress;
use crate::screen::Screen;
use crate::terminal::plain;

/// Shows what a deletion, or any object, caused.
#[derive(Debug, Args)]
pub(crate) struct Story {
    /// An events file, as written by `coracle run --events FILE`, or a report that ends with .html; without a file, the
    /// running cluster is asked, and OBJECT comes first
    events: Option<PathBuf>,
    /// The object (pod/web-1), event (#412) or revision (rev=31) to begin with; without it, the first deletion that a
    /// user requested
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    object: Option<String>,
    /// Print every entry of the log on the way, not only the steps
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    state: StateArgs,
}

impl Story {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let telling = if self.verbose { Telling::Everything } else { Telling::Steps };
        let (events, object) = match (self.events, self.object) {
            // An object has the form of a path, so what exists is a file.
            (Some(first), None) if !first.exists() && is_object(&first) => {
                (self.state.folder().event_log()?, first.into_os_string().into_string().ok())
            }
            (Some(file), object) => (file, object),
            (None, object) => (self.state.folder().event_log()?, object),
        };
        print_of(&events, |entries, columns| {
            let object = object.as_deref().map(|object| with_plural_kind(entries, object));
            coracle_viewer::story(entries, object.as_deref(), telling, columns)
        })
    }
}

/// Whether an argument names an object, an event or a revision, and not a file that is missing.
fn is_object(argument: &Path) -> bool {
    let text = argument.to_string_lossy();
    let is_file = [".jsonl", ".json", ".gz", ".html"].iter().any(|ending| text.ends_with(ending));
    !is_file && (text.starts_with('#') || text.starts_with("rev=") || (2..=3).contains(&text.split('/').count()))
}

/// Reads an events file, as far as it goes, and prints the result of `tell`.
pub(super) fn print_of(
    file: &Path,
    tell: impl FnOnce(&[Entry], Columns) -> Result<String, NotInLog>,
) -> anyhow::Result<u8> {
    let columns = if Screen::of_output().is_narrow() { Columns::Narrow } else { Columns::Aligned };
    let read = run_of(file)?;
    note(file, &read);
    let code = match tell(&read.events.entries, columns) {
        Ok(told) => {
            output::shown(&told)?;
            exit::PASS
        }
        Err(why) => nothing(file, &why)?,
    };
    if let Some(cut) = &read.cut {
        note!("note: {cut}; what follows is missing, or not yet written");
    }
    Ok(code)
}

/// Reads the run in a file, up to its last valid entry.
pub(super) fn run_of(file: &Path) -> anyhow::Result<Read> {
    let _reading = Progress::of(format!("reading {}", file.display()));
    Ok(coracle_viewer::read(file).map_err(|error| exit::Usage(chain(&error)))?)
}

/// Prints a note about the parts of a file that are not used.
pub(super) fn note(file: &Path, read: &Read) {
    if let Some(other) = &read.other_content {
        note!("note: {} also holds {}; what follows is of the run alone", file.display(), other.what);
    }
}

/// Reads the complete run in a file.
pub(super) fn whole_run_of(file: &Path) -> anyhow::Result<Events> {
    let read = run_of(file)?;
    note(file, &read);
    let Read { events, cut, .. } = read;
    cut.map_or(Ok(events), |cut| Err(exit::Usage(cut).into()))
}

/// Reports that the run does not contain the requested object.
pub(super) fn nothing(file: &Path, why: &NotInLog) -> anyhow::Result<u8> {
    if let NotInLog::NoNumber { .. } = why {
        return Err(exit::Usage(why.to_string()).into());
    }
    note!("coracle: {}: {}", file.display(), plain(&why.to_string()));
    Ok(exit::NOTHING_MATCHED)
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
