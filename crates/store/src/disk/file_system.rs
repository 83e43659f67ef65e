use std::fs::File;
use std::io;
use std::path::Path;

use crate::Error;

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
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
