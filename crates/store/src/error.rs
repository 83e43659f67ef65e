use crate::Revision;

/// Why the store did not do what it was asked. The texts are etcd's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The revision is older than the kept history, which begins after `compacted`.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// Up to where history is gone.
        compacted: Revision,
    },
    /// The revision has not happened yet.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision {
        /// The newest revision.
        current: Revision,
    },
    /// The request is malformed; the text says how.
    #[error("{0}")]
    Invalid(&'static str),
    /// The request is larger than the store takes.
    #[error("etcdserver: request is too large")]
    TooLarge,
    /// No such lease.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// The lease exists already.
    #[error("etcdserver: lease already exists")]
    LeaseExists,
    /// The time to live of a lease is longer than the store takes.
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
    /// Nothing can be written until there is space again; reads go on. An etcd does not say where.
    #[error("{}", no_space(.0.as_deref()))]
    NoSpace(Option<String>),
    /// The store does not do this; the text says what does.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The store cannot be reached or is shutting down; whether a write took effect is unknown.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// The data on disk is damaged or not ours; the text names the file, the record and what to do.
    #[error("{0}")]
    Corrupt(String),
}

/// What an etcd says without more.
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

fn no_space(place: Option<&str>) -> String {
    place.map_or_else(
        || NO_SPACE.to_owned(),
        |place| format!("{place}: nothing can be written until there is space again; reads go on"),
    )
}
