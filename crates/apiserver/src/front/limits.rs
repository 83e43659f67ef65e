/// How much is served at once. In Kubernetes: `--max-requests-inflight` and its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that only read, watches and other streams aside.
    pub reads: usize,
    /// Requests that write.
    pub writes: usize,
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Bytes of all bodies together that have not come to their end; one user has half of them at most.
    pub unread_body_bytes: usize,
    /// Bytes of all answers together that clients have not read; one user has half of them at most.
    pub unread_answer_bytes: usize,
    /// Seconds that a request may take, streams aside.
    pub request_seconds: u64,
    /// The least seconds after which a watch that names no time is ended; the most is twice that.
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
