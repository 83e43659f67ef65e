use std::path::{Path, PathBuf};

/// Why a certificate or key cannot be made, read or kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// A certificate or key is not valid.
    #[error("{0}")]
    Certificate(String),
}

impl Error {
    pub(crate) fn of_file(path: &Path, why: &str) -> Self {
        Self::Certificate(format!("{}: {why}", path.display()))
    }

    pub(crate) fn certificate(error: impl std::fmt::Display) -> Self {
        Self::Certificate(error.to_string())
    }
}
