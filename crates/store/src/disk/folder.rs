//! The folder of a store.
//!
//! ```text
//! DIR/FORMAT    one line that names the format; the last file that is created
//! DIR/LOCK      locked by the process that uses the folder
//! DIR/head      the end of the acknowledged log
//! DIR/log/      the records
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::disk::chain::Floor;
use crate::disk::file_system::{io_error, replace_file, sync_folder};
use crate::disk::head::HeadFile;
use crate::disk::segment_log::SegmentLog;

const FORMAT_LINE: &str = "coracle store, format 2\n";
/// The format with a log in sled.
const OLD_FORMAT_LINE: &str = "coracle store, format 1\n";

/// A locked folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Folder {
    /// Locks the existing folder of a store.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if !path.join("FORMAT").exists() {
            return Err(Error::Corrupt(format!("{}: this is not the folder of a store", path.display())));
        }
        let folder = Self::lock(path)?;
        folder.check_format()?;
        folder.finish_swap()?;
        Ok(folder)
    }

    /// Locks the folder of a store, and creates it if it does not exist.
    pub(crate) fn open_or_create(path: &Path) -> Result<Self, Error> {
        private_folder(path).map_err(|error| io_error(path, &error))?;
        let folder = Self::lock(path)?;
        if path.join("FORMAT").exists() {
            folder.check_format()?;
            folder.finish_swap()?;
            return Ok(folder);
        }
        folder.begin()?;
        folder.complete()?;
        Ok(folder)
    }

    /// Locks a folder without a store, and creates an empty one, which cannot be opened before it is
    /// [complete](Self::complete).
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        private_folder(path).map_err(|error| io_error(path, &error))?;
        let folder = Self::lock(path)?;
        if path.join("FORMAT").exists() {
            return Err(Error::Unavailable(format!(
                "{}: there is a store already; name an empty folder",
                path.display()
            )));
        }
        folder.begin()?;
        Ok(folder)
    }

    /// Marks the folder durably as that of a store.
    pub(crate) fn complete(&self) -> Result<(), Error> {
        replace_file(&self.path.join("FORMAT"), FORMAT_LINE.as_bytes())?;
        self.path.parent().map_or(Ok(()), sync_folder).map_err(|error| io_error(&self.path, &error))
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.path.join("head")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// An empty folder for a rewritten log, which replaces the old one later.
    pub(crate) fn make_next_log(&self) -> Result<PathBuf, Error> {
        let next = self.next_log();
        let make = || remove_tree(&next).and_then(|()| private_folder(&next));
        make().map_err(|error| io_error(&next, &error))?;
        Ok(next)
    }

    /// Replaces the old log with the rewritten one.
    pub(crate) fn swap_log(&self) -> Result<(), Error> {
        let old = self.path.join("log.old");
        let swap = || {
            remove_tree(&old)?;
            fs::rename(self.log(), &old)?;
            fs::rename(self.next_log(), self.log())?;
            sync_folder(&self.path)?;
            remove_tree(&old)
        };
        swap().map_err(|error| io_error(&self.path, &error))
    }

    /// Whether the folder has the format with a log in sled.
    pub(crate) fn is_old(&self) -> Result<bool, Error> {
        Ok(self.format()? == OLD_FORMAT_LINE.as_bytes())
    }

    fn next_log(&self) -> PathBuf {
        self.path.join("log.next")
    }

    /// An interrupted swap has moved the old log aside: it is restored if there is no other.
    fn finish_swap(&self) -> Result<(), Error> {
        let old = self.path.join("log.old");
        let finish = || {
            if !self.log().exists() && old.exists() {
                fs::rename(&old, self.log())?;
                sync_folder(&self.path)?;
            }
            remove_tree(&old)?;
            remove_tree(&self.next_log())
        };
        finish().map_err(|error| io_error(&self.path, &error))
    }

    fn lock(path: &Path) -> Result<Self, Error> {
        let lock = File::create(path.join("LOCK")).map_err(|error| io_error(path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Unavailable(format!("{}: the folder is in use by another process", path.display())))
            }
            Err(TryLockError::Error(error)) => Err(io_error(path, &error)),
        }
    }

    fn format(&self) -> Result<Vec<u8>, Error> {
        let path = self.path.join("FORMAT");
        fs::read(&path).map_err(|error| io_error(&path, &error))
    }

    fn check_format(&self) -> Result<(), Error> {
        let line = self.format()?;
        if [FORMAT_LINE, OLD_FORMAT_LINE].iter().any(|known| line == known.as_bytes()) {
            return Ok(());
        }
        Err(Error::Corrupt(format!(
            "{}: it says {:?}, and this version of Coracle reads {:?} and {:?} only; use the version that wrote it, or \
             restore a backup into another folder",
            self.path.join("FORMAT").display(),
            String::from_utf8_lossy(&line[..line.len().min(80)]).trim(),
            OLD_FORMAT_LINE.trim(),
            FORMAT_LINE.trim()
        )))
    }

    /// A folder without a format may contain only the files of an interrupted creation.
    fn check_unused(&self) -> Result<(), Error> {
        let entries = fs::read_dir(&self.path).map_err(|error| io_error(&self.path, &error))?;
        for entry in entries {
            let name = entry.map_err(|error| io_error(&self.path, &error))?.file_name();
            if !["LOCK", "head", "log", "FORMAT.new"].iter().any(|own| name == **own) {
                return Err(Error::Corrupt(format!(
                    "{}: the folder has {} in it and is not the folder of a store; name an empty one",
                    self.path.display(),
                    name.display()
                )));
            }
        }
        let used = match HeadFile::open(&self.head()) {
            Ok(Some(file)) => file.head().sequence > 0,
            Ok(None) | Err(_) => false,
        };
        if used {
            return Err(Error::Corrupt(format!(
                "{}: the file FORMAT is missing from a store that has been written to; restore a backup into another \
                 folder",
                self.path.display()
            )));
        }
        Ok(())
    }

    /// Creates the files of an empty store.
    fn begin(&self) -> Result<(), Error> {
        self.check_unused()?;
        let make_folder = || remove_tree(&self.log()).and_then(|()| private_folder(&self.log()));
        make_folder().map_err(|error| io_error(&self.path, &error))?;
        if SegmentLog::create(&self.log(), &Floor::NONE)?.close() {
            return Err(Error::Unavailable(format!("{}: the new log could not be synced", self.path.display())));
        }
        let make_head = || HeadFile::create(&self.head()).and_then(|_| sync_folder(&self.path));
        make_head().map_err(|error| io_error(&self.path, &error))
    }
}

/// Creates a folder and its parents, readable only by the owner: the log contains Secrets. In etcd: `CreateDirAll`,
/// mode 0700.
///
/// # Errors
/// The error of the file system.
pub fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
