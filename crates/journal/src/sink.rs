use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Entry, EntryId, Error, Header};

/// An events file that is being written; compressed if its name ends with `.gz`.
#[derive(Debug)]
pub(crate) struct Sink {
    out: Out,
    last: EntryId,
    /// The first thing that went wrong: a log that cannot be written must not change what happens.
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Sink {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let failed = |source| Error::Io { path: path.display().to_string(), source };
        let file = BufWriter::new(File::create(path).map_err(failed)?);
        let out = match is_compressed(path) {
            true => Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => Out::Plain(file),
        };
        let mut sink = Self { out, last: EntryId(0), failed: None };
        sink.line(header).map_err(failed)?;
        Ok(sink)
    }

    pub(crate) fn write(&mut self, entry: &Entry) {
        self.last = entry.id;
        if self.failed.is_none() {
            self.failed = self.line(entry).err();
        }
    }

    /// Says that the file is whole.
    pub(crate) fn end(mut self) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.line(&serde_json::json!({"end": self.last}))?;
        match self.out {
            Out::Plain(mut out) => out.flush(),
            Out::Gzip(out) => out.finish()?.flush(),
        }
    }

    fn line(&mut self, what: &impl serde::Serialize) -> io::Result<()> {
        let out: &mut dyn Write = match &mut self.out {
            Out::Plain(out) => out,
            Out::Gzip(out) => out,
        };
        serde_json::to_writer(&mut *out, what)?;
        out.write_all(b"\n")
    }
}

/// Whether a file's name says that it is compressed.
pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}
