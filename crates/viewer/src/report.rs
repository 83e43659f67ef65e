use std::fmt;
use std::path::Path;

use coracle_journal::{EntryId, Events};

use crate::lesson::Lesson;
use crate::parting::Both;
use crate::read::Beside;
use crate::{html, json, junit, markdown, perfetto};

/// What a report is written as, by the ending of its file's name.
///
/// ```
/// use coracle_viewer::Format;
///
/// assert_eq!(Format::of("run.perfetto.json".as_ref()), Ok(Format::Perfetto));
/// assert!(Format::of("run.pdf".as_ref()).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.html`: the page and the run in one file, for a browser without a network.
    Html,
    /// `.json`: the summary, for programs.
    Json,
    /// `.xml`: JUnit, one case a check.
    Junit,
    /// `.md`: a page of a pull request.
    Markdown,
    /// `.perfetto.json`: a trace for ui.perfetto.dev, with causes as flows.
    Perfetto,
}

/// The endings, longest first: `.perfetto.json` ends with `.json`.
const ENDINGS: [(&str, Format); 5] = [
    (".perfetto.json", Format::Perfetto),
    (".json", Format::Json),
    (".html", Format::Html),
    (".xml", Format::Junit),
    (".md", Format::Markdown),
];

/// The name of the file does not say what the report is to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: a report ends with .html, .json, .xml (JUnit), .md or .perfetto.json")]
pub struct NoFormat(String);

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The name of the file does not say what it is to be.
    #[error(transparent)]
    NoFormat(#[from] NoFormat),
    /// Two runs, and lessons, are shown on the page, and the file's name does not ask for it.
    #[error("{0}: this is shown on a page, whose name ends with .html")]
    NotAPage(String),
    /// The run is cut, and a report of this format could not say so.
    #[error("report {path}: not written, because a {format} cannot say that its run is cut; a page (.html) can")]
    Cut {
        /// The file.
        path: String,
        /// The format.
        format: Format,
    },
    /// The file system said no.
    #[error("report {path}")]
    Io {
        /// The file.
        path: String,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
}

impl Format {
    /// The format that the file's name asks for.
    ///
    /// # Errors
    /// If it asks for none that there is.
    pub fn of(path: &Path) -> Result<Self, NoFormat> {
        let name = path.to_string_lossy();
        let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format);
        found.ok_or_else(|| NoFormat(name.into_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = ENDINGS.iter().find(|(_, format)| format == self).map_or("", |(ending, _)| ending);
        f.write_str(ending)
    }
}

/// The report of a run in a format. The same log gives the same text.
pub fn report(events: &Events, format: Format) -> String {
    match format {
        Format::Html => html::render(events, None),
        Format::Json => json::render(events),
        Format::Junit => junit::render(events),
        Format::Markdown => markdown::render(events),
        Format::Perfetto => perfetto::render(events),
    }
}

/// Writes the report of a run into a file, in the format that its name asks for.
///
/// # Errors
/// If the name asks for none, or the file cannot be written.
pub fn write(events: &Events, path: &Path) -> Result<(), WriteError> {
    save(path, report(events, Format::of(path)?))
}

/// Writes the page with the run in it, whatever the file is called.
///
/// # Errors
/// If the file cannot be written.
pub fn write_html(events: &Events, path: &Path) -> Result<(), WriteError> {
    save(path, report(events, Format::Html))
}

/// Writes the page with two runs over each other, from where they part.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_both(both: &Both<'_>, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::render_both(both)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes the page with a lesson, its run, and that of its contrast.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_lesson(lesson: &Lesson, events: &Events, contrast: &Events, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::lesson_page(lesson, events, contrast)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes the page with all that a page holds which was read: two runs, or a lesson.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_again(beside: &Beside, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::render_again(&beside.packed)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes the page with a run into which a step was to be put after an event, and what was said against it there.
///
/// # Errors
/// If the file cannot be written.
pub fn write_refused(was: &Events, at: EntryId, why: &str, path: &Path) -> Result<(), WriteError> {
    save(path, html::render_refused(was, at, why))
}

/// Writes the page of a run whose file is cut, with what came before, and where that was on top. Only a page can say so: in any other
/// format, half a run would be taken for a whole one.
///
/// # Errors
/// As [`write`], and if the name asks for another format.
pub fn write_cut(events: &Events, cut: &str, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::render(events, Some(cut))),
        format => Err(WriteError::Cut { path: path.display().to_string(), format }),
    }
}

fn save(path: &Path, text: String) -> Result<(), WriteError> {
    std::fs::write(path, text).map_err(|source| WriteError::Io { path: path.display().to_string(), source })
}
