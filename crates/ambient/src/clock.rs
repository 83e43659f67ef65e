use jiff::Timestamp;
use tokio::time::Instant;

use crate::skew::Skew;
use crate::time_shift::TimeShift;

/// The start of virtual time: 2026-01-01T00:00:00Z.
const FIXED_EPOCH_SECOND: i64 = 1_767_225_600;

/// The wall clock, derived from tokio's clock, so that it pauses and advances together with sleeps.
///
/// Invariant: clones always agree, and time goes backwards only if a [`Skew`] is shifted.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Timestamp,
    origin: Instant,
    /// The skews of the machine that shows this clock. Most clocks have none.
    skews: Vec<Skew>,
}

impl Clock {
    /// Reads the machine's wall clock once, and follows tokio's clock from there.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the seam that reads the operating system's clock")]
        let epoch = Timestamp::now();
        Self::starting_at(epoch)
    }

    /// A clock that starts at 2026-01-01T00:00:00Z, for virtual time.
    pub fn fixed() -> Self {
        Self::starting_at(Self::fixed_epoch())
    }

    /// The time at which virtual time starts: 2026-01-01T00:00:00Z.
    pub fn fixed_epoch() -> Timestamp {
        Timestamp::from_second(FIXED_EPOCH_SECOND).expect("the fixed epoch is a valid timestamp")
    }

    /// A clock that shows `time` at this moment.
    pub fn starting_at(time: Timestamp) -> Self {
        Self { epoch: time, origin: Instant::now(), skews: Vec::new() }
    }

    /// The same clock as a machine shows it whose clock has this skew, in addition to those of this clock. Timers are not
    /// affected: they follow tokio's clock.
    #[must_use]
    pub fn skewed_by(&self, skew: &Skew) -> Self {
        let skews = self.skews.iter().chain([skew]).cloned().collect();
        Self { skews, ..self.clone() }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        let right = self.epoch.later(self.elapsed());
        self.skews.iter().fold(right, |shown, skew| shown.later(skew.ahead()))
    }

    /// The time since this clock started, on tokio's clock.
    pub fn elapsed(&self) -> std::time::Duration {
        self.origin.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::SignedDuration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_time_advances_exactly_with_a_paused_sleep() {
        let clock = Clock::fixed();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T00:01:30Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_skew_is_of_one_clock_and_adds_to_the_skews_that_the_clock_has() {
        let (clock, of_all, of_one) = (Clock::fixed(), Skew::default(), Skew::default());
        let all = clock.skewed_by(&of_all);
        let one = all.skewed_by(&of_one);
        of_all.shift(SignedDuration::from_secs(30));
        of_one.shift(SignedDuration::from_secs(-90));
        assert_eq!(one.clone().now().to_string(), "2025-12-31T23:59:00Z");
        assert_eq!(all.now().to_string(), "2026-01-01T00:00:30Z");
        assert_eq!((clock.now().to_string(), one.elapsed()), ("2026-01-01T00:00:00Z".to_owned(), Duration::ZERO));
        of_one.shift(SignedDuration::from_secs(90));
        of_one.shift(SignedDuration::MAX);
        assert_eq!(one.now(), all.now(), "the clock is right again, and no clock shows such a shift");
    }
}
