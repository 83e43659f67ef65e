use coracle_meta::{Status, StatusDetails, reason};

/// Why a patch was not applied. Converts to the [`Status`] for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is invalid: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch has too many operations: 413.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {actual}")]
    TooManyOperations {
        /// The limit.
        limit: usize,
        /// The number of operations.
        actual: usize,
    },
    /// The patch merges too many items of lists: 413.
    #[error("a strategic merge patch may look at {limit} items of lists, counting each as often as its list is merged")]
    TooManyItems {
        /// The limit.
        limit: usize,
    },
    /// The patch does not apply to this document: 422, with a message without the reason.
    #[error("{0}")]
    DoesNotApply(String),
    /// The patch contradicts the kind's schema or itself: 500, as in Kubernetes.
    #[error("{0}")]
    Contradictory(String),
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Malformed(_) => Self::bad_request(message),
            Error::TooManyOperations { .. } | Error::TooManyItems { .. } => {
                let message = format!("Request entity too large: {message}");
                Self::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message)
            }
            Error::DoesNotApply(_) => {
                let message = "the server rejected our request due to an error in our request";
                Self::failure(422, reason::INVALID, message).with_details(StatusDetails::default())
            }
            Error::Contradictory(_) => Self::failure(500, "", message),
        }
    }
}
