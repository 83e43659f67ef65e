use coracle_ambient::{HoldsWork, Horizon, Pending};
use tokio::time::Instant;

use super::{Key, Shared, State};

impl<K: Key> HoldsWork for Shared<K> {
    fn pending(&self, horizon: &Horizon) -> Vec<Pending> {
        let state = self.state.lock();
        if state.shut_down { Vec::new() } else { state.pending(&self.name, horizon).into_iter().collect() }
    }
}

impl<K: Key> State<K> {
    /// A key that is due or in work, that is retried after a failure, or whose delay is within the horizon.
    fn pending(&self, queue: &str, horizon: &Horizon) -> Option<Pending> {
        let pending = |key: &K, how: &str, due| Pending { what: format!("queue {queue}: {key} {how}"), due };
        if let Some(key) = self.keys.any() {
            return Some(pending(key, "is due", None));
        }
        let is_retried = |key: &K| self.limiter.requeues(key) > 0;
        let now = Instant::now();
        let due_now = Horizon { set_by: now, due_by: now, ..*horizon };
        let (key, due) =
            self.delays.pending(&due_now, |_| false).or_else(|| self.delays.pending(horizon, is_retried))?;
        let how = if is_retried(key) { "is retried" } else { "is delayed" };
        Some(pending(key, how, Some(due)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::WorkQueue;

    #[tokio::test(start_paused = true)]
    async fn a_queue_has_work_left_while_a_key_is_due_in_work_retried_or_delayed_within_the_horizon() {
        let queue = WorkQueue::new("q");
        let horizon =
            |now: Instant, seconds| Horizon { revision: 0, set_by: now, due_by: now + Duration::from_secs(seconds) };
        let left = |seconds| {
            let holder = queue.holder().upgrade().expect("the queue is alive");
            holder.pending(&horizon(Instant::now(), seconds)).pop().map(|pending| pending.what)
        };
        assert_eq!(left(60), None);
        queue.add("a", &[]);
        assert_eq!(left(0).as_deref(), Some("queue q: a is due"));
        let work = queue.get().await.unwrap();
        assert_eq!(left(0).as_deref(), Some("queue q: a is due"), "a worker has it");
        queue.done(&work.key);
        assert_eq!(left(60), None);
        queue.add_after("b", Duration::from_secs(90), &[]);
        assert_eq!(left(60), None);
        assert_eq!(left(90).as_deref(), Some("queue q: b is delayed"));
        queue.add_rate_limited("c", &[]);
        assert_eq!(left(0).as_deref(), Some("queue q: c is retried"));
        queue.shut_down();
        assert_eq!(left(90), None);
    }
}
