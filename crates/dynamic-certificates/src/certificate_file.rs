use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::CertificateFileError;

/// A certificate, a key or a list of tokens: the text itself, or a file that is read again when it changes.
#[derive(Clone)]
pub enum CertificateFile {
    /// The text, usually PEM. Never logged.
    Text(String),
    /// The file.
    File(PathBuf),
}

impl CertificateFile {
    /// What it says at this moment.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn text(&self) -> Result<String, CertificateFileError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => std::fs::read_to_string(path)
                .map_err(|source| CertificateFileError::Unreadable { path: path.clone(), source }),
        }
    }

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Text(_) => None,
            Self::File(path) => Some(path),
        }
    }
}

impl From<String> for CertificateFile {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for CertificateFile {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Debug for CertificateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("CertificateFile"),
            Self::File(path) => write!(f, "CertificateFile({})", path.display()),
        }
    }
}
