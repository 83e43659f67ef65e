use std::fmt;
use std::path::Path;

use coracle_journal::{EntryId, Events};

use crate::divergence::RunPair;
use crate::lesson::Lesson;
use crate::read::OtherContent;
use crate::{html, json, junit, markdown, perfetto};

/// The format of a report, by the extension of its file name.
///
/// ```
/// use coracle_viewer::Format;
///
/// assert_eq!(Format::of("run.perfetto.json".as_ref()), Ok(Format::Perfetto));
/// assert!(Format::of("run.pdf".as_ref()).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.html`: the page and the run in one file, which a browser can show offline.
    Html,
    /// `.json`: the summary, for programs.
    Json,
    /// `.xml`: JUnit, one test case per check.
    Junit,
    /// `.md`: Markdown for a pull request.
    Markdown,
    /// `.perfetto.json`: a trace for ui.perfetto.dev, with causes as flows.
    Perfetto,
}

/// The extensions, longest first: `.perfetto.json` also ends with `.json`.
const ENDINGS: [(&str, Format); 5] = [
    (".perfetto.json", Format::Perfetto),
    (".json", Format::Json),
    (".html", Format::Html),
    (".xml", Format::Junit),
    (".md", Format::Markdown),
];

/// The extension of the file does not select a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: a report ends with .html, .json, .xml (JUnit), .md or .perfetto.json")]
pub struct NoFormat(String);

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The extension of the file does not select a format.
    #[error(transparent)]
    NoFormat(#[from] NoFormat),
    /// Two runs or a lesson need the page, and the extension is not `.html`.
    #[error("{0}: this is shown on a page, whose name ends with .html")]
    NotAPage(String),
    /// The run was truncated, and a report of this format could not show that.
    #[error("report {path}: not written, because a {format} cannot say that its run is cut; a page (.html) can")]
    Cut {
        /// The file.
        path: String,
        /// The format.
        format: Format,
    },
    /// A file operation failed.
    #[error("report {path}")]
    Io {
        /// The file.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
}

impl Format {
    /// The format that the extension selects.
    ///
    /// # Errors
    /// If it selects none.
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

/// The report of a run in a format. Equal logs give equal texts.
pub fn report(events: &Events, format: Format) -> String {
    match format {
        Format::Html => html::render(events, None),
        Format::Json => json::render(events),
        Format::Junit => junit::render(events),
        Format::Markdown => markdown::render(events),
        Format::Perfetto => perfetto::render(events),
    }
}

/// Writes the report of a run to a file, in the format that its extension selects.
///
/// # Errors
/// If the extension selects no format, or the file cannot be written.
pub fn write(events: &Events, path: &Path) -> Result<(), WriteError> {
    save(path, report(events, Format::of(path)?))
}

/// Writes the page with the run in it, with any file name.
///
/// # Errors
/// If the file cannot be written.
pub fn write_html(events: &Events, path: &Path) -> Result<(), WriteError> {
    save(path, report(events, Format::Html))
}

/// Writes the page with two runs, from their divergence on.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_pair(both: &RunPair<'_>, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::pair_page(both)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes the page with a lesson, its run, and the run of its contrast.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_lesson(lesson: &Lesson, events: &Events, contrast: &Events, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::lesson_page(lesson, events, contrast)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes a page with the content of a page that was read: two runs, or a lesson.
///
/// # Errors
/// If the file's name does not end with `.html`, or it cannot be written.
pub fn write_again(content: &OtherContent, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::render_again(&content.packed)),
        _ => Err(WriteError::NotAPage(path.display().to_string())),
    }
}

/// Writes the page with a run into which a step could not be inserted after an event, and why.
///
/// # Errors
/// If the file cannot be written.
pub fn write_refused(was: &Events, at: EntryId, why: &str, path: &Path) -> Result<(), WriteError> {
    save(path, html::refused_page(was, at, why))
}

/// Writes the page of a truncated run, with a note about the truncation on top. Only the page can show such a note: in
/// any other format, half a run would look complete.
///
/// # Errors
/// As [`write`], and if the extension selects another format.
pub fn write_cut(events: &Events, cut: &str, path: &Path) -> Result<(), WriteError> {
    match Format::of(path)? {
        Format::Html => save(path, html::render(events, Some(cut))),
        format => Err(WriteError::Cut { path: path.display().to_string(), format }),
    }
}

fn save(path: &Path, text: String) -> Result<(), WriteError> {
    std::fs::write(path, text).map_err(|source| WriteError::Io { path: path.display().to_string(), source })
}
