use std::path::Path;

use anyhow::Result;
use coracle_cluster::CertificateFile;

use crate::exit;

/// The file that a flag names, which is reloaded when it changes.
///
/// # Errors
/// A usage error if it cannot be read.
pub(crate) fn certificate_file(path: &Path, flag: &str) -> Result<CertificateFile> {
    read(path, flag).map(|_| CertificateFile::File(path.to_owned()))
}

/// The text of the file that a flag names.
///
/// # Errors
/// A usage error if it cannot be read.
pub(crate) fn read(path: &Path, flag: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| exit::Usage(format!("{flag} {}: {error}", path.display())).into())
}
