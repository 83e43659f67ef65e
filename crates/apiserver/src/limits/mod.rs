//! How much the server takes on at once: concurrent requests, and the bytes of bodies and responses.

pub(crate) mod budget;
pub(crate) mod fairness;
pub(crate) mod in_flight;

/// The limits of an API server. In Kubernetes: `--max-requests-inflight` and its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent non-mutating requests, except watches and other streams.
    pub reads: usize,
    /// Concurrent mutating requests.
    pub writes: usize,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of all incomplete request bodies together; one user has at most half of them.
    pub unread_body_bytes: usize,
    /// Bytes of all unread responses together; one user has at most half of them.
    pub unread_answer_bytes: usize,
    /// The timeout of a request in seconds, except streams.
    pub request_seconds: u64,
    /// The minimum number of seconds after which a watch without a timeout is ended; the maximum is twice that.
    pub watch_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads: 400,
            writes: 200,
            body_bytes: 3 * 1024 * 1024,
            unread_body_bytes: 256 * 1024 * 1024,
            unread_answer_bytes: 512 * 1024 * 1024,
            request_seconds: 60,
            watch_seconds: 1800,
        }
    }
}
