use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The maximum shift of an instant. Timers round up, so the result must stay away from the last instant.
const FARTHEST: Duration = Duration::from_secs(1000 * 365 * 24 * 3600);

/// Moves a time by a duration of any length, for example from an API object: the result is limited to the clock's
/// range, and nothing panics as with `+` and `-`.
///
/// ```
/// use coracle_ambient::{SignedDuration, TimeShift, Timestamp};
///
/// let now = Timestamp::UNIX_EPOCH;
/// assert_eq!(now.later(SignedDuration::from_secs(60)).as_second(), 60);
/// assert_eq!(now.later(SignedDuration::from_secs(i64::MAX)), Timestamp::MAX);
/// ```
pub trait TimeShift<Span>: Sized {
    /// The time `span` after this one, or the last time.
    #[must_use]
    fn later(self, span: Span) -> Self;

    /// The time `span` before this one, or the first time.
    #[must_use]
    fn earlier(self, span: Span) -> Self;
}

impl TimeShift<SignedDuration> for Timestamp {
    fn later(self, span: SignedDuration) -> Self {
        self.checked_add(span).unwrap_or(if span.is_negative() { Self::MIN } else { Self::MAX })
    }

    fn earlier(self, span: SignedDuration) -> Self {
        self.checked_sub(span).unwrap_or(if span.is_negative() { Self::MAX } else { Self::MIN })
    }
}

impl TimeShift<Duration> for Timestamp {
    fn later(self, span: Duration) -> Self {
        self.later(SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX))
    }

    fn earlier(self, span: Duration) -> Self {
        self.earlier(SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX))
    }
}

/// Instants are moved by at most a thousand years.
impl TimeShift<Duration> for Instant {
    fn later(self, span: Duration) -> Self {
        self.checked_add(span.min(FARTHEST)).unwrap_or(self)
    }

    fn earlier(self, span: Duration) -> Self {
        self.checked_sub(span.min(FARTHEST)).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_ends_at_the_first_and_the_last_there_is() {
        let (day, now) = (SignedDuration::from_hours(24), Timestamp::UNIX_EPOCH);
        assert_eq!(now.later(day).earlier(day), now);
        assert_eq!(now.later(SignedDuration::MAX), Timestamp::MAX);
        assert_eq!(now.later(SignedDuration::MIN), Timestamp::MIN);
        assert_eq!(now.earlier(SignedDuration::MAX), Timestamp::MIN);
        assert_eq!(now.earlier(SignedDuration::MIN), Timestamp::MAX);
        assert_eq!(now.later(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.later(Duration::from_nanos(1)), Timestamp::MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn an_instant_can_be_slept_until_however_far_it_is() {
        let now = Instant::now();
        assert_eq!(now.later(Duration::from_secs(7)).earlier(Duration::from_secs(7)), now);
        let far = now.later(Duration::MAX);
        assert_eq!(far.duration_since(now), FARTHEST);
        let slept = tokio::time::timeout(Duration::from_secs(3600), tokio::time::sleep_until(far.later(Duration::MAX)));
        assert!(slept.await.is_err());
    }
}
