use crate::Revision;

/// Why the store rejected a request. The texts are etcd's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The revision is older than the available history, which starts after `compacted`.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// The revision up to which history is compacted.
        compacted: Revision,
    },
    /// The revision does not exist yet.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision {
        /// The newest revision.
        current: Revision,
    },
    /// The request is malformed; the text explains why.
    #[error("{0}")]
    Invalid(&'static str),
    /// The request exceeds the size limit.
    #[error("etcdserver: request is too large")]
    TooLarge,
    /// The lease does not exist.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// The lease exists already.
    #[error("etcdserver: lease already exists")]
    LeaseExists,
    /// The time to live of a lease exceeds the limit.
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
    /// Writes are rejected until there is space again; reads continue. An etcd does not report the path.
    #[error("{}", no_space(.0.as_deref()))]
    NoSpace(Option<String>),
    /// The store does not support this; the text names an alternative.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The store is unreachable or is shutting down; it is unknown whether a write took effect.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// The data on disk is damaged or has another format; the text names the file, the record and a remedy.
    #[error("{0}")]
    Corrupt(String),
}

/// The message of an etcd without further details.
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

fn no_space(place: Option<&str>) -> String {
    place.map_or_else(
        || NO_SPACE.to_owned(),
        |place| format!("{place}: nothing can be written until there is space again; reads go on"),
    )
}
