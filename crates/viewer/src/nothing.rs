use coracle_journal::EntryId;

/// Why there is nothing to tell: the log does not hold what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingToTell {
    /// The log holds no deletion to start from.
    #[error("the log holds no deletion; name an object, as in `pods/default/web-1`")]
    NoDeletion,
    /// Nothing in the log is about the object.
    #[error("nothing in the log is about `{object}`{}", or_else(nearest.as_ref().map(|nearest| format!("`{nearest}`"))))]
    UnknownObject {
        /// How it was called.
        object: String,
        /// What in the log is called most like it.
        nearest: Option<String>,
    },
    /// The log holds no event of this number.
    #[error("the log holds no event #{}{}", id.0, or_else(nearest.map(|nearest| format!("#{}", nearest.0))))]
    UnknownEvent {
        /// The number.
        id: EntryId,
        /// The nearest that it holds.
        nearest: Option<EntryId>,
    },
    /// The log holds nothing of this revision.
    #[error("the log holds nothing at revision {revision}{}", or_else(*nearest))]
    UnknownRevision {
        /// The revision.
        revision: i64,
        /// The nearest of which it holds something.
        nearest: Option<i64>,
    },
    /// What was to be a number is none.
    #[error("`{called}`: expected a number, as in `#412` or `rev=31`")]
    NoNumber {
        /// What was there.
        called: String,
    },
}

fn or_else(nearest: Option<impl std::fmt::Display>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}
