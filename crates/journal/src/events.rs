use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::sink::is_compressed;
use crate::{Entry, EntryId, Error, Header, SCHEMA, Stage, json};

/// The longest line of a log. A longer line is not read into memory.
const LONGEST_LINE: u64 = 64 << 20;

/// The contents of an events file.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// The first line of the file.
    pub header: Header,
    /// The entries, in the order of their numbers.
    pub entries: Vec<Entry>,
}

/// A line of the file; unknown fields are ignored.
#[derive(Deserialize)]
struct Line {
    i: u64,
    t: u64,
    a: String,
    s: String,
    #[serde(default)]
    k: String,
    #[serde(default)]
    c: Vec<EntryId>,
    #[serde(default)]
    rv: Option<i64>,
    #[serde(default)]
    d: Map<String, Value>,
}

#[derive(Deserialize)]
struct End {
    end: u64,
}

impl Events {
    /// Reads an events file, which is compressed if its name ends with `.gz`.
    ///
    /// Entries of an unknown stage are skipped. An entry that one of them caused gets the causes of the skipped entry.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not an events file, has another schema, or is truncated.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (events, cut) = Self::read_as_far_as_it_goes(path)?;
        cut.map_or(Ok(events), Err)
    }

    /// Like [`read`](Self::read). For a truncated file it returns the entries before the truncation, and the error that
    /// says where.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read), except [`Error::Cut`].
    pub fn read_as_far_as_it_goes(path: &Path) -> Result<(Self, Option<Error>), Error> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.display().to_string(), source })?;
        let file = BufReader::new(file);
        if is_compressed(path) {
            Self::read_some(&path.display().to_string(), BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Self::read_some(&path.display().to_string(), file)
        }
    }

    /// Like [`read`](Self::read), from any reader; `name` is for messages.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_from(name: &str, from: impl BufRead) -> Result<Self, Error> {
        let (events, cut) = Self::read_some(name, from)?;
        cut.map_or(Ok(events), Err)
    }

    fn read_some(name: &str, from: impl BufRead) -> Result<(Self, Option<Error>), Error> {
        let mut lines = Lines { name, from, line: 0, text: Vec::new() };
        let header = lines.header()?;
        let (mut entries, mut last, mut unknown) = (Vec::new(), 0, BTreeMap::<EntryId, Vec<EntryId>>::new());
        loop {
            let text = match lines.next() {
                Err(cut @ Error::Cut { .. }) => return Ok((Self { header, entries }, Some(cut))),
                text => text?,
            };
            if let Ok(End { end }) = json::from_slice(text) {
                return if end == last {
                    Ok((Self { header, entries }, None))
                } else {
                    Err(lines.malformed(format!("the last one is {last}, and {end} were written")))
                };
            }
            let line: Line = json::from_slice(text).map_err(|error| lines.malformed(error.to_string()))?;
            if line.i <= last {
                return Err(lines.malformed(format!("{} comes after {last}", line.i)));
            }
            if let Some(cause) = line.c.iter().find(|cause| cause.0 >= line.i) {
                return Err(lines.malformed(format!("{} is caused by {}, which comes later", line.i, cause.0)));
            }
            last = line.i;
            let mut causes: Vec<EntryId> =
                line.c.into_iter().flat_map(|cause| unknown.get(&cause).cloned().unwrap_or(vec![cause])).collect();
            causes.sort_unstable();
            causes.dedup();
            let id = EntryId(line.i);
            match Stage::of_word(&line.s) {
                None => drop(unknown.insert(id, causes)),
                Some(stage) => entries.push(Entry {
                    id,
                    at: Duration::from_nanos(line.t),
                    actor: line.a,
                    stage,
                    subject: line.k,
                    causes,
                    revision: line.rv,
                    data: line.d,
                }),
            }
        }
    }
}

struct Lines<'n, R> {
    name: &'n str,
    from: R,
    line: usize,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<'_, R> {
    fn header(&mut self) -> Result<Header, Error> {
        let foreign = |name: &str, text: &[u8]| {
            let begins: String = String::from_utf8_lossy(&text[..text.len().min(200)]).chars().take(60).collect();
            let found = if begins.is_empty() { "nothing".to_owned() } else { format!("`{}`", begins.escape_debug()) };
            Error::Foreign { path: name.to_owned(), found }
        };
        match self.next() {
            Ok(_) => {}
            // A file that is not compressed, or without a single complete line.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::InvalidInput => {
                return Err(Error::Foreign { path: self.name.to_owned(), found: "what is not compressed".to_owned() });
            }
            Err(Error::Cut { .. } | Error::Malformed { .. }) => return Err(foreign(self.name, &self.text)),
            Err(other) => return Err(other),
        }
        let value: Value = serde_json::from_slice(&self.text).map_err(|_| foreign(self.name, &self.text))?;
        let schema = value.get("schema").and_then(Value::as_u64);
        match (value.get("log").and_then(Value::as_str), schema) {
            (Some("coracle"), Some(schema)) if schema != u64::from(SCHEMA) => Err(Error::OtherSchema {
                path: self.name.to_owned(),
                found: schema,
                version: value.get("version").and_then(Value::as_str).unwrap_or("of an unknown version").to_owned(),
            }),
            (Some("coracle"), Some(_)) => {
                serde_json::from_value(value).map_err(|error| self.malformed(error.to_string()))
            }
            _ => Err(foreign(self.name, &self.text)),
        }
    }

    /// The next line, which must exist and be complete.
    fn next(&mut self) -> Result<&[u8], Error> {
        self.line += 1;
        self.text.clear();
        let cut = Error::Cut { path: self.name.to_owned(), line: self.line };
        match (&mut self.from).take(LONGEST_LINE).read_until(b'\n', &mut self.text) {
            Ok(_) if self.text.ends_with(b"\n") => Ok(&self.text),
            Ok(length) if length as u64 == LONGEST_LINE => Err(self.malformed("the line does not end".to_owned())),
            Ok(_) => Err(cut),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(cut),
            Err(source) => Err(Error::Io { path: self.name.to_owned(), source }),
        }
    }

    fn malformed(&self, why: String) -> Error {
        Error::Malformed { path: self.name.to_owned(), line: self.line, why }
    }
}
