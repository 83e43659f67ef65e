use std::time::Duration;

use coracle_ambient::Random;
use tokio::time::{Instant, sleep};

const FIRST: Duration = Duration::from_millis(800);
const MAX: Duration = Duration::from_secs(30);
/// After this long without a failure the back-off is reset.
const RESET: Duration = Duration::from_secs(120);

/// The delays between a reflector's retries: 800 ms doubling to 30 s, each with a jitter of up to 100 %.
///
/// In Kubernetes: `wait.NewExponentialBackoffManager(800ms, 30s, 2min, 2.0, 1.0)` in `NewReflector`.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    last: Option<Instant>,
    random: Random,
}

impl Backoff {
    pub(crate) fn new(random: Random) -> Self {
        Self { next: FIRST, last: None, random }
    }

    pub(crate) async fn wait(&mut self) {
        let delay = self.step(Instant::now());
        sleep(delay).await;
    }

    fn step(&mut self, now: Instant) -> Duration {
        if self.last.is_some_and(|last| now.duration_since(last) > RESET) {
            self.next = FIRST;
        }
        self.last = Some(now);
        let base = self.next;
        self.next = (base * 2).min(MAX);
        base + base.mul_f64(self.random.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_to_30_s_with_jitter_and_start_again_after_two_quiet_minutes() {
        let mut backoff = Backoff::new(Random::from_seed(1));
        let now = Instant::now();
        for base in [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000] {
            let wait = backoff.step(now).as_millis();
            assert!((base..=2 * base).contains(&wait), "{wait} for {base}");
        }
        let later = backoff.step(now + Duration::from_secs(121)).as_millis();
        assert!((800..=1600).contains(&later), "{later}");
    }
}
