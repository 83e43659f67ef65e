use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The delay before a key is retried: the larger of its own back-off and the common limit of all keys.
///
/// In Kubernetes: `DefaultTypedControllerRateLimiter`, a `MaxOfRateLimiter` of an exponential one and a bucket.
///
/// ```
/// # use coracle_workqueue::{RateLimiter, WorkQueue};
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// let limits = RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(3));
/// let queue = WorkQueue::with("pods", "controller", coracle_journal::Recorder::off(), limits);
/// let began = tokio::time::Instant::now();
/// for seconds in [1, 1 + 2, 1 + 2 + 3, 1 + 2 + 3 + 3] {
///     queue.add_rate_limited("default/a", &[]);
///     queue.get().await;
///     queue.done(&"default/a");
///     assert_eq!(began.elapsed().as_secs(), seconds);
/// }
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RateLimiter<K> {
    base: Duration,
    max: Duration,
    bucket: Option<Bucket>,
    failures: BTreeMap<K, u32>,
}

impl<K> Default for RateLimiter<K> {
    /// 5 ms doubling to 1000 s for each key; ten per second with a burst of 100 for all keys.
    fn default() -> Self {
        let bucket = Bucket::new(Duration::from_millis(100), 100);
        Self { bucket: Some(bucket), ..Self::exponential(Duration::from_millis(5), Duration::from_secs(1000)) }
    }
}

impl<K> RateLimiter<K> {
    /// A separate back-off for each key, from `base` doubling to `max`.
    ///
    /// In Kubernetes: `ItemExponentialFailureRateLimiter`.
    pub fn exponential(base: Duration, max: Duration) -> Self {
        Self { base, max, bucket: None, failures: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> RateLimiter<K> {
    /// The delay of `key` this time; counts the failure.
    pub(crate) fn when(&mut self, key: &K, now: Instant) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let factor = 2_u32.saturating_pow(*failures);
        *failures = failures.saturating_add(1);
        let own = self.base.saturating_mul(factor).min(self.max);
        let shared = self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.reserve(now));
        own.max(shared)
    }

    pub(crate) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    pub(crate) fn requeues(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

/// A token bucket, represented by the time at which it is full again.
#[derive(Clone, Debug)]
struct Bucket {
    interval: Duration,
    capacity: Duration,
    full_at: Option<Instant>,
}

impl Bucket {
    fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, capacity: interval.saturating_mul(burst), full_at: None }
    }

    /// Takes one token, and returns how long until it is available.
    fn reserve(&mut self, now: Instant) -> Duration {
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + self.interval;
        self.full_at = Some(full_at);
        full_at.duration_since(now).saturating_sub(self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_backs_off_from_5_ms_doubling_to_1000_s_and_starts_again_when_forgotten() {
        let mut limiter = RateLimiter::default();
        let now = Instant::now();
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"a", now).as_millis()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80]);
        assert_eq!(limiter.requeues(&"a"), 5);
        for _ in 0..40 {
            limiter.when(&"a", now);
        }
        assert_eq!(limiter.when(&"a", now), Duration::from_secs(1000));
        limiter.forget(&"a");
        assert_eq!(limiter.requeues(&"a"), 0);
        assert_eq!(limiter.when(&"b", now), Duration::from_millis(5));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_of_100_keys_share_ten_a_second() {
        let mut limiter = RateLimiter::default();
        let now = Instant::now();
        for key in 0..100 {
            assert_eq!(limiter.when(&key, now), Duration::from_millis(5));
        }
        assert_eq!(limiter.when(&100, now), Duration::from_millis(100));
        assert_eq!(limiter.when(&101, now), Duration::from_millis(200));
        let later = now + Duration::from_secs(3600);
        assert_eq!(limiter.when(&102, later), Duration::from_millis(5));
    }
}
