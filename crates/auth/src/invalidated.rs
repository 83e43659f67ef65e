//! When a token is invalid independently of its claims.

use coracle_ambient::Timestamp;
use coracle_meta::{Object, Status, parse_time, reason};

/// How long a token stays valid after the deletion timestamp of its object, in seconds.
const LEEWAY_SECONDS: i64 = 60;

/// Whether an object has been terminating for so long that its tokens are invalid.
pub(crate) fn is_gone(object: &Object, now: Timestamp) -> bool {
    let gone_since = object.deletion_timestamp().and_then(parse_time);
    gone_since.is_some_and(|since| since.as_second() + LEEWAY_SECONDS < now.as_second())
}

/// A 401 with the reason, for a TokenReview.
pub(crate) fn refused(why: &str) -> Status {
    Status::failure(401, reason::UNAUTHORIZED, why)
}
