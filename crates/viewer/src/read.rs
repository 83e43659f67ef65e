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

/// A run as a file holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The run, as far as the file goes.
    pub events: Events,
    /// Where the file ends too early, as a sentence; `None` if it is whole.
    pub cut: Option<String>,
    /// What else the file holds, which is not read; `None` if it is this run alone.
    pub beside: Option<Beside>,
}

/// What a page holds beside the run that is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// What it is.
    pub what: &'static str,
    /// All that the page holds, as it lies in it.
    pub(crate) packed: String,
}

/// Why a file holds no run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is an events file that is of no use.
    #[error(transparent)]
    Events(#[from] Error),
    /// It is a page that is of no use.
    #[error("report {path}, line {line}: expected {expected}: {why}")]
    Page {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What was expected there.
        expected: &'static str,
        /// What there is.
        why: String,
    },
}

/// Reads a run from an events file, or from a report that ends with `.html`.
///
/// # Errors
/// If the file cannot be read, is neither, or is of another schema; not if an events file is cut, which [`Read::cut`] says.
pub fn read(path: &Path) -> Result<Read, ReadError> {
    if path.extension().is_some_and(|ending| ending == "html") {
        return read_page(path);
    }
    let (events, cut) = Events::read_as_far_as_it_goes(path)?;
    Ok(Read { events, cut: cut.map(|cut| cut.to_string()), beside: None })
}

/// What [`data`](crate::data) wrote.
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
    /// What is in the page beside its run.
    fn beside(&self) -> Option<&'static str> {
        let all = [
            (&self.was, "another run, from which this one parts"),
            (&self.refused, "a step that was refused"),
            (&self.lesson, "a lesson, and the run of its contrast"),
        ];
        all.into_iter().find_map(|(there, what)| there.as_ref().map(|_| what))
    }
}

type Row = (u64, u64, usize, usize, usize, Vec<EntryId>, Option<i64>, Value);

/// No page unpacks to more: whatever does is not read into memory to find that out.
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
    let beside = data.beside().map(|what| Beside { what, packed: packed.trim().to_owned() });
    let mut entries = Vec::with_capacity(data.entries.len());
    for row in data.entries {
        let id = row.0;
        let Some(entry) = entry(&data.stages, &data.names, row) else {
            return Err(wrong(format!("the entry {id} has a name or a stage that the run does not list")));
        };
        entries.extend(entry);
    }
    Ok(Read { events: Events { header: data.run, entries }, cut: data.cut, beside })
}

/// An entry of its row; `Some(None)` if its stage is not known here. Unlike in an events file, what it caused has then one cause less.
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
