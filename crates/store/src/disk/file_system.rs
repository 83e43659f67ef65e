use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::Error;

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// The extension of a file that replaces another one when it is complete.
pub(crate) const UNFINISHED: &str = "new";

/// Replaces a file by one with these bytes, or creates it; returns when that is durable. An interruption leaves the old
/// file, and maybe one with the extension [`UNFINISHED`].
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = path.with_extension(UNFINISHED);
    let replace = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), sync_folder)
    };
    replace().map_err(|error| io_error(&new, &error))
}

/// The store's error for an error of the file system.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Error::NoSpace(Some(format!("{}: {error}", path.display())))
        }
        _ => Error::Unavailable(format!("{}: {error}", path.display())),
    }
}
