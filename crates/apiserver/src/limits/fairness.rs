use coracle_ambient::stable_hash;
use coracle_meta::{Status, reason};

/// The number of groups of users that are counted together. In Kubernetes: the queues of a priority level.
pub(crate) const FLOWS: usize = 128;

/// The group of a user, the same in every run.
pub(crate) fn flow(user: &str) -> usize {
    (stable_hash(user) % FLOWS as u64) as usize
}

/// 429 for a request beyond the limit. In Kubernetes: `tooManyRequests` of `WithMaxInFlightLimit`.
pub(crate) fn too_many_requests() -> Status {
    Status::failure(429, reason::TOO_MANY_REQUESTS, "Too many requests, please try again later.").with_retry_after(1)
}
