use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Usage;

/// The given files, and the YAML files in the given folders, sorted by name.
///
/// # Errors
/// If a folder cannot be read.
pub(crate) fn yaml_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Usage> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(yaml_files_in(path).map_err(|error| Usage(format!("{}: {error}", path.display())))?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Whether the name of a file is that of a YAML file.
pub(crate) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// The YAML files in a folder, sorted by name. Hidden files, whose names begin with a dot, are configurations of tools.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn yaml_files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    files.retain(|path| is_yaml(path) && !is_hidden(path));
    files.sort();
    Ok(files)
}
