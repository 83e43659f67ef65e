use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::disk::file_system::{UNFINISHED, io_error, replace_file, sync_folder};

/// The length of a segment's name: numbers sort as they count.
const NAME_DIGITS: usize = 20;

/// The files of a log. A segment is named after the number of its first record.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFolder {
    path: PathBuf,
}

impl SegmentFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The segments, in order.
    pub(crate) fn segments(&self) -> Result<Vec<u64>, Error> {
        let mut segments: Vec<u64> = self.names()?.iter().filter_map(|name| number(name)).collect();
        segments.sort_unstable();
        Ok(segments)
    }

    /// Removes what an interrupted replacement has left.
    pub(crate) fn remove_unfinished(&self) -> Result<(), Error> {
        let paths = self.names()?.into_iter().map(|name| self.path.join(name));
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == UNFINISHED)) {
            fs::remove_file(path).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    pub(crate) fn read(&self, segment: u64) -> Result<Vec<u8>, Error> {
        let path = self.file(segment);
        fs::read(&path).map_err(|error| io_error(&path, &error))
    }

    /// Creates a durable name for an empty segment.
    pub(crate) fn create(&self, segment: u64) -> Result<File, Error> {
        let path = self.file(segment);
        let mut options = OpenOptions::new();
        let file =
            options.create(true).truncate(true).write(true).open(&path).map_err(|error| io_error(&path, &error))?;
        self.sync()?;
        Ok(file)
    }

    pub(crate) fn open(&self, segment: u64) -> Result<File, Error> {
        let path = self.file(segment);
        OpenOptions::new().write(true).open(&path).map_err(|error| io_error(&path, &error))
    }

    /// Replaces a segment by a file with these bytes; returns when that is durable.
    pub(crate) fn replace(&self, segment: u64, bytes: &[u8]) -> Result<(), Error> {
        replace_file(&self.file(segment), bytes)
    }

    pub(crate) fn remove(&self, segment: u64) -> Result<(), Error> {
        let path = self.file(segment);
        fs::remove_file(&path).map_err(|error| io_error(&path, &error))
    }

    /// Makes the names durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sync_folder(&self.path).map_err(|error| self.failed(&error))
    }

    fn file(&self, segment: u64) -> PathBuf {
        self.path.join(format!("{segment:0NAME_DIGITS$}"))
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        let entries = fs::read_dir(&self.path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| self.failed(&error))?;
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn failed(&self, error: &io::Error) -> Error {
        io_error(&self.path, error)
    }
}

fn number(name: &str) -> Option<u64> {
    let is_segment = name.len() == NAME_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| is_segment)
}
