use std::path::PathBuf;

/// Why certificate files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateFileError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file; empty for a text.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The files were read, but their content is not valid.
    #[error("{0}")]
    Invalid(String),
}
