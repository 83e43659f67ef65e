use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::block::Kept;
use crate::{EntryId, Error, Header};

/// The size of the write buffer in bytes: a run writes about a megabyte.
const AT_ONCE: usize = 1 << 17;

/// An events file that is being written; compressed if its name ends with `.gz`.
#[derive(Debug)]
pub(crate) struct Sink {
    out: Out,
    /// The line that is being written; the buffer is reused.
    line: Vec<u8>,
    last: EntryId,
    /// The first error: a log that cannot be written must not change what happens.
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

/// Creates or truncates a file; only its owner can read a new one, where files have owners.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The last line of an events file, which marks it as complete.
pub(crate) fn end_line(last: EntryId) -> serde_json::Value {
    serde_json::json!({"end": last})
}

impl Sink {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let failed = |source| Error::Io { path: path.display().to_string(), source };
        let file = BufWriter::with_capacity(AT_ONCE, private_file(path).map_err(failed)?);
        let out = if is_compressed(path) {
            Out::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Out::Plain(file)
        };
        let mut sink = Self { out, line: Vec::new(), last: EntryId(0), failed: None };
        sink.line(header).map_err(failed)?;
        Ok(sink)
    }

    pub(crate) fn write(&mut self, entry: &Kept<'_>) {
        self.last = entry.id();
        if self.failed.is_none() {
            self.line.clear();
            entry.write(&mut self.line);
            self.line.push(b'\n');
            self.failed = self.out.as_write().write_all(&self.line).err();
        }
    }

    /// Flushes the written lines to the file.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.as_write().flush().err();
        }
    }

    /// The first error of the file, if there was one.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.as_ref().map(ToString::to_string)
    }

    /// Writes the last line, which marks the file as complete.
    pub(crate) fn end(mut self) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.line(&end_line(self.last))?;
        match self.out {
            Out::Plain(mut out) => out.flush(),
            Out::Gzip(out) => out.finish()?.flush(),
        }
    }

    fn line(&mut self, what: &impl serde::Serialize) -> io::Result<()> {
        let out = self.out.as_write();
        serde_json::to_writer(&mut *out, what)?;
        out.write_all(b"\n")
    }
}

impl Out {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(out) => out,
            Self::Gzip(out) => out,
        }
    }
}

/// Whether the name of a file means that it is compressed.
pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}
