use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Entry, EntryId, Error, Events, Header, SCHEMA, Stage};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::html::packed_in;
use crate::page::FORM;

/// A run that was read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The run, as far as the file is complete.
    pub events: Events,
    /// Where the file was truncated, as a sentence; `None` if it is complete.
    pub cut: Option<String>,
    /// Other content of the file, which is not read; `None` if it holds only this run.
    pub other_content: Option<OtherContent>,
}

/// The content of a page in addition to its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherContent {
    /// Its description.
    pub what: &'static str,
    /// All content of the page, still packed.
    pub(crate) packed: String,
}

/// Why no run can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is an invalid events file.
    #[error(transparent)]
    Events(#[from] Error),
    /// The file is an invalid page.
    #[error("report {path}, line {line}: expected {expected}: {why}")]
    Page {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What was expected there.
        expected: &'static str,
        /// What was found there.
        why: String,
    },
}

/// Reads a run from an events file, or from a report that ends with `.html`.
///
/// # Errors
///
/// If the file cannot be read, is neither of these, or has another schema. A truncated events file is not an error: see
/// [`Read::cut`].
pub fn read(path: &Path) -> Result<Read, ReadError> {
    if path.extension().is_some_and(|ending| ending == "html") {
        return read_page(path);
    }
    let (events, cut) = Events::read_as_far_as_it_goes(path)?;
    Ok(Read { events, cut: cut.map(|cut| cut.to_string()), other_content: None })
}

/// The format that [`data`](crate::data) writes.
#[derive(Deserialize)]
struct Data {
    run: Header,
    stages: Vec<String>,
    names: Vec<String>,
    entries: Vec<Row>,
    cut: Option<String>,
    was: Option<IgnoredAny>,
    refused: Option<IgnoredAny>,
    lesson: Option<IgnoredAny>,
}

impl Data {
    /// The content of the page in addition to its run.
    fn other_content(&self) -> Option<&'static str> {
        let all = [
            (&self.was, "another run, from which this one parts"),
            (&self.refused, "a step that was refused"),
            (&self.lesson, "a lesson, and the run of its contrast"),
        ];
        all.into_iter().find_map(|(there, what)| there.as_ref().map(|_| what))
    }
}

type Row = (u64, u64, usize, usize, usize, Vec<EntryId>, Option<i64>, Value);

/// An upper bound for the unpacked content of a page, so that a larger one does not fill the memory.
const MOST: u64 = 2 << 30;

fn read_page(path: &Path) -> Result<Read, ReadError> {
    let name = || path.display().to_string();
    let page = std::fs::read(path).map_err(|source| Error::Io { path: name(), source })?;
    let page = String::from_utf8_lossy(&page);
    let wrong = |line, expected, why: String| ReadError::Page { path: name(), line, expected, why };
    let Some(packed) = packed_in(&page) else {
        return Err(wrong(1, "a page that `--report FILE.html` wrote", "there is no run in it".to_owned()));
    };
    let begins = packed.as_ptr() as usize - page.as_ptr() as usize;
    let line = page[..begins].matches('\n').count() + 1;
    let wrong = |why: String| wrong(line, "a run as gzip in base64", why);
    let compressed = STANDARD.decode(packed.trim()).map_err(|error| wrong(error.to_string()))?;
    let mut text = Vec::new();
    GzDecoder::new(&*compressed).take(MOST + 1).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > MOST {
        return Err(wrong(format!("it unpacks to more than {MOST} bytes")));
    }
    let value: Value = coracle_journal::json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if value["form"] != FORM {
        return Err(wrong(format!("it has form {}, and this program reads form {FORM}", value["form"])));
    }
    if value["run"]["schema"] != SCHEMA {
        return Err(wrong(format!("it has schema {}, and this program reads schema {SCHEMA}", value["run"]["schema"])));
    }
    let data: Data = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    let other_content = data.other_content().map(|what| OtherContent { what, packed: packed.trim().to_owned() });
    let mut entries = Vec::with_capacity(data.entries.len());
    for row in data.entries {
        let id = row.0;
        let Some(entry) = entry(&data.stages, &data.names, row) else {
            return Err(wrong(format!("the entry {id} has a name or a stage that the run does not list")));
        };
        entries.extend(entry);
    }
    Ok(Read { events: Events { header: data.run, entries }, cut: data.cut, other_content })
}

/// The entry of a row; `Some(None)` if its stage is unknown. Unlike in an events file, an entry that it caused then has
/// one cause less.
fn entry(stages: &[String], names: &[String], row: Row) -> Option<Option<Entry>> {
    let (id, at, actor, stage, subject, causes, revision, data) = row;
    let Some(stage) = Stage::of_word(stages.get(stage)?) else { return Some(None) };
    let data = match data {
        Value::Object(data) => data,
        _ => Map::new(),
    };
    let (actor, subject) = (names.get(actor)?.clone(), names.get(subject)?.clone());
    Some(Some(Entry { id: EntryId(id), at: Duration::from_nanos(at), actor, stage, subject, causes, revision, data }))
}
