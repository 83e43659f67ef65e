//! When a token counts no more, whatever it says.

use coracle_ambient::Timestamp;
use coracle_meta::{Object, Status, parse_time, reason};

/// For how long a token still counts whose object is being deleted, in seconds.
const LEEWAY_SECONDS: i64 = 60;

/// Whether an object has been deleting for so long that its tokens no longer count.
pub(crate) fn is_gone(object: &Object, now: Timestamp) -> bool {
    let gone_since = object.deletion_timestamp().and_then(parse_time);
    gone_since.is_some_and(|since| since.as_second() + LEEWAY_SECONDS < now.as_second())
}

/// A 401 that says why, for a review.
pub(crate) fn refused(why: &str) -> Status {
    Status::failure(401, reason::UNAUTHORIZED, why)
}
