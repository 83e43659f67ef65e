//! What can be said of reports before there is a run.

use std::path::{Path, PathBuf};

use coracle_viewer::Format;

use crate::exit::Usage;

/// Whether reports of a run can be written there: a run that took minutes must not be lost to a misspelt folder.
///
/// # Errors
/// If an ending is of no format, or a folder is not there.
pub(crate) fn check(paths: &[PathBuf]) -> Result<(), Usage> {
    paths.iter().try_for_each(|path| {
        Format::of(path).map_err(|why| Usage(format!("--report {why}")))?;
        check_folder("--report", path)
    })
}

/// Whether the folder of a file is there that `option` names.
///
/// # Errors
/// If it is not.
pub(crate) fn check_folder(option: &str, path: &Path) -> Result<(), Usage> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (path, folder) = (path.display(), folder.display());
            Err(Usage(format!("{option} {path}: there is no folder {folder}")))
        }
    }
}
