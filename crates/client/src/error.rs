use coracle_meta::Status;

/// An error of the transport.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an API request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server rejected the request. Match on the reason of the [`Status`].
    #[error(transparent)]
    Api(Box<Status>),
    /// No response, or a partial one: it is unknown whether the request took effect.
    #[error("no answer to {verb} {path}")]
    Transport {
        /// The HTTP method.
        verb: String,
        /// The requested path.
        path: String,
        /// The error of the transport.
        #[source]
        source: BoxError,
    },
    /// The response does not conform to the API.
    #[error("malformed answer to {verb} {path}")]
    Malformed {
        /// The HTTP method.
        verb: String,
        /// The requested path.
        path: String,
        /// The decoding error.
        #[source]
        source: serde_json::Error,
    },
    /// The request was not sent, because it is not valid HTTP.
    #[error("not a request: {why}")]
    Request {
        /// What is invalid.
        why: String,
    },
}

impl Error {
    /// The status in the server's response, if there was one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            Self::Transport { .. } | Self::Malformed { .. } | Self::Request { .. } => None,
        }
    }

    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether the object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether an optimistic lock or a precondition failed.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Whether the requested version has expired.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// Whether the object was rejected as invalid.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// Whether the caller is not authorized.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// Whether creation failed because the namespace is terminating, so that a retry is useless.
    ///
    /// In Kubernetes: `errors.HasStatusCause(err, v1.NamespaceTerminatingCause)`.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(|status| status.has_cause("NamespaceTerminating"))
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Api(Box::new(status))
    }
}
