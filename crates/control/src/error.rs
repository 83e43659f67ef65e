use std::collections::BTreeMap;

use coracle_meta::Status;

/// Why a running server cannot do what is asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster does not start, or cannot be copied.
    #[error(transparent)]
    Cluster(#[from] coracle_cluster::Error),
    /// The launcher of the cluster reports this.
    #[error("{0}")]
    Launch(String),
    /// The system provides no thread.
    #[error("cannot start the runtime of the cluster: {0}")]
    Runtime(#[from] std::io::Error),
    /// The runtime of the cluster has ended.
    #[error("the cluster has ended")]
    Ended,
    /// There is no such snapshot or fork.
    #[error("there is no {kind} {name:?}; there are: {there}")]
    NotFound {
        /// `snapshot` or `fork`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        there: String,
    },
    /// The server was started without what is needed.
    #[error("{0}")]
    Unavailable(&'static str),
}

impl Error {
    /// There is no `kind` of this name among those that are `there`.
    pub(crate) fn not_found<T>(kind: &'static str, name: &str, there: &BTreeMap<String, T>) -> Self {
        let there: Vec<&str> = there.keys().map(String::as_str).collect();
        Self::NotFound { kind, name: name.to_owned(), there: there.join(", ") }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let (code, reason) = match &error {
            Error::NotFound { .. } => (404, "NotFound"),
            Error::Unavailable(_) | Error::Cluster(coracle_cluster::Error::Options(_)) => (409, "Conflict"),
            Error::Ended => (503, "ServiceUnavailable"),
            Error::Cluster(_) | Error::Launch(_) | Error::Runtime(_) => (500, "InternalError"),
        };
        Self::failure(code, reason, error.to_string())
    }
}
