use coracle_meta::Status;

/// An error of whoever carries the requests.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a call to the API failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered, and said no. Match on the reason of the [`Status`].
    #[error(transparent)]
    Api(Box<Status>),
    /// No answer, or half of one: whether the call took effect is unknown.
    #[error("no answer to {verb} {path}")]
    Transport {
        /// The HTTP method.
        verb: String,
        /// The path that was asked for.
        path: String,
        /// What the transport said.
        #[source]
        source: BoxError,
    },
    /// An answer that is not what the API promises.
    #[error("malformed answer to {verb} {path}")]
    Malformed {
        /// The HTTP method.
        verb: String,
        /// The path that was asked for.
        path: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The call was not sent, because it cannot be said in HTTP.
    #[error("not a request: {why}")]
    Request {
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// The server's answer, if there was one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            Self::Transport { .. } | Self::Malformed { .. } | Self::Request { .. } => None,
        }
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether the object is there already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether an optimistic lock or a precondition failed.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Whether the version asked for is no longer kept.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// Whether the object was refused as invalid.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// Whether the caller may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// Whether nothing can be made in the namespace because it is being deleted, so that trying again is no use.
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
