//! Validates report files before a run.

use std::path::{Path, PathBuf};

use coracle_viewer::Format;

use crate::exit::Usage;

/// Checks that reports of a run can be written: a run of minutes must not be lost because of a misspelt folder.
///
/// # Errors
/// If a file extension is not a report format, or a folder does not exist.
pub(crate) fn check(paths: &[PathBuf]) -> Result<(), Usage> {
    paths.iter().try_for_each(|path| {
        Format::of(path).map_err(|why| Usage(format!("--report {why}")))?;
        check_folder("--report", path)
    })
}

/// Checks that the folder of the file in `option` exists.
///
/// # Errors
/// If it does not exist.
pub(crate) fn check_folder(option: &str, path: &Path) -> Result<(), Usage> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (path, folder) = (path.display(), folder.display());
            Err(Usage(format!("{option} {path}: there is no folder {folder}")))
        }
    }
}
