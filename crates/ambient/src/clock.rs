use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Where virtual time begins: 2026-01-01T00:00:00Z.
const FIXED_EPOCH_SECOND: i64 = 1_767_225_600;

/// The time of day, computed from tokio's clock so that it stands still, jumps and runs together with sleeps.
///
/// Invariant: two clones always agree, and time never goes back.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Timestamp,
    origin: Instant,
}

impl Clock {
    /// The machine's time of day, read once; from there it follows tokio's clock.
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

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// How long this clock has been running, on tokio's clock.
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
