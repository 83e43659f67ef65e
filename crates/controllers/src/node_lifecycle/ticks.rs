use coracle_ambient::{TimeShift, Timestamp};
use jiff::SignedDuration;
use tokio::time::{Duration, Instant};

/// The times at which the monitor may run: every `period` after the last check. In Kubernetes it runs at each of
/// them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    /// When the last check ended, on both clocks.
    pub(super) began: Instant,
    pub(super) time: Timestamp,
    pub(super) period: Duration,
}

impl Ticks {
    /// The first tick not before `moment`, and after the last check.
    pub(super) fn at_or_after(&self, moment: Instant) -> Instant {
        self.began.later(self.until(moment.duration_since(self.began)))
    }

    /// The first tick not before `time`, and after the last check.
    pub(super) fn time_at_or_after(&self, time: Timestamp) -> Timestamp {
        let since = Duration::try_from(time.duration_since(self.time)).unwrap_or_default();
        let until = SignedDuration::try_from(self.until(since)).unwrap_or(SignedDuration::MAX);
        self.time.saturating_add(until).unwrap_or(Timestamp::MAX)
    }

    fn until(&self, since: Duration) -> Duration {
        let period = self.period.max(Duration::from_millis(1));
        let ticks = since.as_nanos().div_ceil(period.as_nanos()).max(1);
        period.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_a_whole_number_of_periods_after_the_last_look_and_never_the_look_itself() {
        let (began, second) = (Instant::now(), Duration::from_secs);
        let ticks = Ticks { began, time: Timestamp::UNIX_EPOCH, period: second(5) };
        let tick = |after| ticks.at_or_after(began + after).duration_since(began);
        assert_eq!(tick(Duration::ZERO), second(5));
        assert_eq!(tick(second(5)), second(5));
        assert_eq!(tick(Duration::from_millis(5001)), second(10));
        assert_eq!(ticks.time_at_or_after(Timestamp::from_second(12).unwrap()), Timestamp::from_second(15).unwrap());
        assert_eq!(ticks.time_at_or_after(Timestamp::from_second(-3).unwrap()), Timestamp::from_second(5).unwrap());
    }
}
