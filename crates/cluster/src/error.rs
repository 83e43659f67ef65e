use std::path::PathBuf;

use coracle_dynamic_certificates::CertificateFileError;
use coracle_supervisor::TaskPanic;

/// Why a cluster could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options contradict each other, or one is invalid.
    #[error("{0}")]
    Options(String),
    /// The system refused a resource, or the cluster was not ready in time.
    #[error("{0}")]
    NotStarted(String),
    /// A task of the cluster panicked, and the cluster ended.
    #[error("the task {task} panicked: {message}")]
    Panic {
        /// The task.
        task: String,
        /// Its message.
        message: String,
    },
    /// The store refused to open; its message contains a hint.
    #[error(transparent)]
    Store(#[from] coracle_store::Error),
    /// The API server could not write what it starts with.
    #[error("bootstrap: {0}")]
    Bootstrap(#[from] coracle_meta::Status),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// A certificate or key is not usable.
    #[error("{0}")]
    Certificate(String),
}

impl From<coracle_storage_backend::Error> for Error {
    fn from(error: coracle_storage_backend::Error) -> Self {
        match error {
            coracle_storage_backend::Error::Options(why) => Self::Options(why),
            coracle_storage_backend::Error::Store(error) => Self::Store(error),
        }
    }
}

impl From<TaskPanic> for Error {
    fn from(TaskPanic { task, message }: TaskPanic) -> Self {
        Self::Panic { task, message }
    }
}

impl From<CertificateFileError> for Error {
    fn from(error: CertificateFileError) -> Self {
        match error {
            CertificateFileError::Unreadable { path, source } => Self::Io { path, source },
            CertificateFileError::Invalid(why) => Self::Certificate(why),
        }
    }
}

#[cfg(feature = "serve")]
impl From<coracle_pki::Error> for Error {
    fn from(error: coracle_pki::Error) -> Self {
        match error {
            coracle_pki::Error::Io { path, source } => Self::Io { path, source },
            coracle_pki::Error::Certificate(why) => Self::Certificate(why),
        }
    }
}

impl Error {
    pub(crate) fn options(error: impl std::fmt::Display) -> Self {
        Self::Options(error.to_string())
    }
}
