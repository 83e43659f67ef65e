use std::path::PathBuf;

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
    /// The server cannot listen on the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn options(error: impl std::fmt::Display) -> Self {
        Self::Options(error.to_string())
    }

    #[cfg(feature = "serve")]
    pub(crate) fn certificate(path: &std::path::Path, why: &str) -> Self {
        Self::Certificate(format!("{}: {why}", path.display()))
    }

    #[cfg(feature = "serve")]
    pub(crate) fn certificates(error: impl std::fmt::Display) -> Self {
        Self::Certificate(error.to_string())
    }
}
