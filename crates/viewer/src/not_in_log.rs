use coracle_journal::EntryId;

/// Why there is no result: the log does not hold what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInLog {
    /// The log holds no deletion to start with.
    #[error("the log holds no deletion; name an object, as in `pods/default/web-1`")]
    NoDeletion,
    /// Nothing in the log is about the object.
    #[error("nothing in the log is about `{object}`{}", or_else(nearest.as_ref().map(|nearest| format!("`{nearest}`"))))]
    UnknownObject {
        /// The name that was given.
        object: String,
        /// The most similar name in the log.
        nearest: Option<String>,
    },
    /// The log holds no event with this number.
    #[error("the log holds no event #{}{}", id.0, or_else(nearest.map(|nearest| format!("#{}", nearest.0))))]
    UnknownEvent {
        /// The number.
        id: EntryId,
        /// The nearest number that it holds.
        nearest: Option<EntryId>,
    },
    /// The log holds nothing of this revision.
    #[error("the log holds nothing at revision {revision}{}", or_else(*nearest))]
    UnknownRevision {
        /// The revision.
        revision: i64,
        /// The nearest revision that it holds.
        nearest: Option<i64>,
    },
    /// A number was expected.
    #[error("`{called}`: expected a number, as in `#412` or `rev=31`")]
    NoNumber {
        /// The text that was given.
        called: String,
    },
}

fn or_else(nearest: Option<impl std::fmt::Display>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}
