use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// A client's rate limit: `per_second` on average, bursts of `burst`.
///
/// In Kubernetes: `flowcontrol.NewTokenBucketRateLimiter`. Represented by the time at which the bucket is full again.
#[derive(Debug)]
pub(crate) struct RateLimit {
    interval: Duration,
    capacity: Duration,
    full_at: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(crate) fn new(per_second: f32, burst: u32) -> Self {
        let interval = Duration::from_micros((1e6 / f64::from(per_second.max(0.001))) as u64);
        Self { interval, capacity: interval.saturating_mul(burst), full_at: Mutex::new(None) }
    }

    /// Waits until the limit permits the request; requests are served in their order.
    pub(crate) async fn wait(&self) {
        let delay = self.reserve(Instant::now());
        if !delay.is_zero() {
            sleep(delay).await;
        }
    }

    fn reserve(&self, now: Instant) -> Duration {
        let mut full_at = self.full_at.lock();
        let next = full_at.map_or(now, |at| at.max(now)) + self.interval;
        *full_at = Some(next);
        next.duration_since(now).saturating_sub(self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn thirty_calls_go_at_once_and_then_twenty_a_second() {
        let limit = RateLimit::new(20.0, 30);
        let start = Instant::now();
        for _ in 0..30 {
            limit.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            limit.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }
}
