use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The start of virtual time: 2026-01-01T00:00:00Z.
const FIXED_EPOCH_SECOND: i64 = 1_767_225_600;

/// The wall clock, derived from tokio's clock, so that it pauses and advances together with sleeps.
///
/// Invariant: clones always agree, and time never goes backwards.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Timestamp,
    origin: Instant,
}

impl Clock {
    /// Reads the machine's wall clock once, and follows tokio's clock from there.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the seam that reads the operating system's clock")]
        let epoch = Timestamp::now();
        Self { epoch, origin: Instant::now() }
    }

    /// A clock that starts at 2026-01-01T00:00:00Z, for virtual time.
    pub fn fixed() -> Self {
        let epoch = Timestamp::from_second(FIXED_EPOCH_SECOND).expect("the fixed epoch is a valid timestamp");
        Self { epoch, origin: Instant::now() }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// The time since this clock started, on tokio's clock.
    pub fn elapsed(&self) -> std::time::Duration {
        self.origin.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn wall_time_advances_exactly_with_a_paused_sleep() {
        let clock = Clock::fixed();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T00:01:30Z");
    }
}
