mod pending;

use std::fmt::Display;
use std::sync::{Arc, Weak};
use std::time::Duration;

use coracle_ambient::HoldsWork;
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::RateLimiter;
use crate::delays::Delays;
use crate::keys::{Added, Keys};

/// Replaces longer delays: thirty years.
const LONGEST_DELAY: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The key type of a queue; its text is the subject in the event log.
pub trait Key: Ord + Clone + Display + Send + Sync + 'static {}

impl<K: Ord + Clone + Display + Send + Sync + 'static> Key for K {}

/// A queue of keys to process; clones are handles of the same queue.
///
/// - A key that is added twice before a worker takes it is handed out once.
/// - A key that is added while a worker has it is handed out again when that worker is [`done`](Self::done): never two
///   workers on one key, and no addition is lost.
/// - Each [`get`](Self::get) requires a `done`.
///
/// Each addition carries the event log entries that caused it; merged additions merge their causes.
///
/// In Kubernetes: `workqueue.TypedRateLimitingInterface`.
///
/// A worker, as in every client-go tutorial:
///
/// ```
/// use coracle_workqueue::WorkQueue;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// let queue = WorkQueue::new("pods");
/// for key in ["default/a", "default/b", "default/a"] {
///     queue.add(key.to_owned(), &[]);
/// }
/// let mut failures = 1;
/// let mut worked = Vec::new();
/// while !queue.is_empty() || queue.requeues(&"default/a".to_owned()) > 0 {
///     let Some(work) = queue.get().await else { break };
///     let failed = work.key == "default/a" && failures > 0;
///     worked.push((work.key.clone(), failed));
///     match failed {
///         true => {
///             failures -= 1;
///             queue.add_rate_limited(work.key.clone(), &[]); // comes back after 5 ms, then 10 ms, ...
///         }
///         false => queue.forget(&work.key),
///     }
///     queue.done(&work.key);
/// }
/// let expected = [("default/a", true), ("default/b", false), ("default/a", false)];
/// assert_eq!(worked, expected.map(|(key, failed)| (key.to_owned(), failed)));
/// # });
/// ```
#[derive(Debug)]
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

#[derive(Debug)]
struct Shared<K> {
    name: String,
    actor: String,
    recorder: Recorder,
    state: Mutex<State<K>>,
    /// Wakes one worker that waits for a key.
    changed: Notify,
    /// Wakes all workers when the queue shuts down, and the caller that waits for the last worker.
    ended: Notify,
}

#[derive(Debug)]
struct State<K> {
    keys: Keys<K>,
    delays: Delays<K>,
    limiter: RateLimiter<K>,
    shut_down: bool,
    adds: u64,
    retries: u64,
}

/// A key that a worker has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work<K> {
    /// The key.
    pub key: K,
    /// The log entry of the get; it is the cause of the worker's actions.
    pub cause: Option<EntryId>,
    /// How long it waited for a worker.
    pub waited: Duration,
}

/// Counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Additions of keys that were not waiting already.
    pub adds: u64,
    /// Additions of failed keys.
    pub retries: u64,
    /// Keys that wait for a worker now.
    pub depth: usize,
    /// Keys that a worker has now.
    pub in_work: usize,
}

impl<K: Key> WorkQueue<K> {
    /// A queue with client-go's default rate limits and without an event log.
    pub fn new(name: &str) -> Self {
        Self::with(name, "", Recorder::off(), RateLimiter::default())
    }

    /// A queue with records in the event log, under `actor`.
    pub fn recorded(name: &str, actor: &str, recorder: Recorder) -> Self {
        Self::with(name, actor, recorder, RateLimiter::default())
    }

    /// A queue with a custom rate limiter.
    pub fn with(name: &str, actor: &str, recorder: Recorder, limiter: RateLimiter<K>) -> Self {
        let state =
            State { keys: Keys::default(), delays: Delays::default(), limiter, shut_down: false, adds: 0, retries: 0 };
        Self {
            shared: Arc::new(Shared {
                name: name.to_owned(),
                actor: actor.to_owned(),
                recorder,
                state: Mutex::new(state),
                changed: Notify::new(),
                ended: Notify::new(),
            }),
        }
    }

    /// The queue as a holder of work.
    pub fn holder(&self) -> Weak<dyn HoldsWork> {
        let shared: Weak<Shared<K>> = Arc::downgrade(&self.shared);
        shared
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds `key`. Does nothing after a shutdown.
    pub fn add(&self, key: K, causes: &[EntryId]) {
        let mut state = self.shared.state.lock();
        self.add_locked(&mut state, key, causes);
    }

    /// Adds `key` after `delay`; a key that is delayed already keeps the earlier time.
    ///
    /// ```
    /// # use coracle_workqueue::WorkQueue;
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let queue = WorkQueue::new("leases");
    /// let began = tokio::time::Instant::now();
    /// queue.add_after("default/a", Duration::from_secs(60), &[]);
    /// queue.add_after("default/a", Duration::from_secs(10), &[]);
    /// assert_eq!(queue.get().await.unwrap().key, "default/a");
    /// assert_eq!(began.elapsed().as_secs(), 10);
    /// # });
    /// ```
    pub fn add_after(&self, key: K, delay: Duration, causes: &[EntryId]) {
        let mut state = self.shared.state.lock();
        self.delay_locked(&mut state, key, delay, "delay", causes);
    }

    /// Adds `key` after its back-off; counts a failure of the key.
    pub fn add_rate_limited(&self, key: K, causes: &[EntryId]) {
        let mut state = self.shared.state.lock();
        state.retries += 1;
        let delay = state.limiter.when(&key, Instant::now());
        self.delay_locked(&mut state, key, delay, "rate-limited", causes);
    }

    /// Resets the failures of `key`, so that its back-off starts again.
    pub fn forget(&self, key: &K) {
        self.shared.state.lock().limiter.forget(key);
    }

    /// How often `key` was added with a rate limit since it was last forgotten.
    pub fn requeues(&self, key: &K) -> u32 {
        self.shared.state.lock().limiter.requeues(key)
    }

    /// Waits for a key; `None` once the queue is shut down and empty.
    ///
    /// Cancel-safe: a cancelled call has taken no key.
    pub async fn get(&self) -> Option<Work<K>> {
        loop {
            let due = {
                let mut state = self.shared.state.lock();
                self.promote(&mut state);
                if let Some(work) = self.take_locked(&mut state) {
                    return Some(work);
                }
                if state.shut_down {
                    // The next worker must be notified, too.
                    self.shared.changed.notify_one();
                    return None;
                }
                state.delays.next_due()
            };
            self.wait_for_change(due).await;
        }
    }

    /// Returns a key; it is handed out again if it was added meanwhile.
    pub fn done(&self, key: &K) {
        let mut state = self.shared.state.lock();
        let Some((taken, requeued)) = state.keys.done(key) else { return };
        self.shared.recorder.record(&self.shared.actor, Stage::QueueDone, || {
            self.detail(key).caused_by(taken).with("requeued", requeued)
        });
        if requeued {
            self.shared.changed.notify_one();
        }
        if state.shut_down && !state.keys.is_processing() {
            self.shared.ended.notify_one();
        }
    }

    /// Rejects further additions and drops the delayed ones; ready keys are still handed out.
    ///
    /// ```
    /// # use coracle_workqueue::WorkQueue;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let queue = WorkQueue::new("pods");
    /// queue.add("default/a", &[]);
    /// queue.shut_down();
    /// queue.add("default/b", &[]);
    /// assert_eq!(queue.get().await.unwrap().key, "default/a");
    /// assert_eq!(queue.get().await, None);
    /// # });
    /// ```
    pub fn shut_down(&self) {
        let mut state = self.shared.state.lock();
        state.shut_down = true;
        state.delays.clear();
        self.shared.changed.notify_one();
        self.shared.ended.notify_one();
    }

    /// Shuts down, and waits until every key that was ready or in work is done.
    ///
    /// Needs workers that continue to take keys until [`get`](Self::get) returns `None`.
    pub async fn shut_down_with_drain(&self) {
        self.shut_down();
        loop {
            {
                let state = self.shared.state.lock();
                if !state.keys.is_processing() && !state.keys.is_ready() {
                    return;
                }
            }
            self.shared.ended.notified().await;
        }
    }

    /// Whether the queue was shut down.
    pub fn is_shut_down(&self) -> bool {
        self.shared.state.lock().shut_down
    }

    /// The counters so far.
    pub fn counts(&self) -> QueueCounts {
        let state = self.shared.state.lock();
        let (depth, in_work) = (state.keys.ready_len(), state.keys.in_work());
        QueueCounts { adds: state.adds, retries: state.retries, depth, in_work }
    }

    /// How many keys wait for a worker, without delayed ones.
    pub fn len(&self) -> usize {
        let mut state = self.shared.state.lock();
        self.promote(&mut state);
        state.keys.ready_len()
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn add_locked(&self, state: &mut State<K>, key: K, causes: &[EntryId]) {
        if state.shut_down {
            return;
        }
        let added = state.keys.add(key.clone(), Instant::now());
        state.adds += u64::from(added != Added::Merged);
        let entry = self.shared.recorder.record(&self.shared.actor, Stage::QueueAdd, || {
            self.detail(&key).caused_by(causes.iter().copied()).with("how", added.as_str())
        });
        state.keys.add_cause(&key, entry);
        self.shared.changed.notify_one();
    }

    fn delay_locked(&self, state: &mut State<K>, key: K, delay: Duration, why: &str, causes: &[EntryId]) {
        if state.shut_down {
            return;
        }
        if delay.is_zero() {
            return self.add_locked(state, key, causes);
        }
        let entry = self.shared.recorder.record(&self.shared.actor, Stage::QueueDelay, || {
            let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
            self.detail(&key).caused_by(causes.iter().copied()).with("delayNanos", nanos).with("why", why)
        });
        let now = Instant::now();
        // A user may have configured the delay, and it may exceed the range of the clock.
        let due = now.checked_add(delay.min(LONGEST_DELAY)).unwrap_or(now);
        // A worker that waits for the first delay need not be notified of a later one.
        let is_first = state.delays.next_due().is_none_or(|first| due < first);
        state.delays.add(key, now, due, entry);
        if is_first {
            self.shared.changed.notify_one();
        }
    }

    /// Moves due keys from the delayed to the ready ones.
    fn promote(&self, state: &mut State<K>) {
        let now = Instant::now();
        while let Some((key, causes)) = state.delays.pop_due(now) {
            self.add_locked(state, key, &causes);
        }
    }

    fn take_locked(&self, state: &mut State<K>) -> Option<Work<K>> {
        let (key, reason) = state.keys.get()?;
        let waited = reason.since.elapsed();
        let cause = self.shared.recorder.record(&self.shared.actor, Stage::QueueGet, || {
            let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
            self.detail(&key).caused_by(reason.causes).with("waitedNanos", nanos)
        });
        state.keys.taken(&key, cause);
        if state.keys.is_ready() || state.delays.next_due().is_some() {
            // Two additions may have woken one worker; it notifies the next one, which also waits for the next delay.
            self.shared.changed.notify_one();
        }
        Some(Work { key, cause, waited })
    }

    async fn wait_for_change(&self, due: Option<Instant>) {
        let changed = self.shared.changed.notified();
        match due {
            None => changed.await,
            // A due key counts as a change.
            Some(due) => drop(timeout_at(due, changed).await),
        }
    }

    fn detail(&self, key: &K) -> Detail {
        Detail::about(key.to_string()).with("queue", self.shared.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[tokio::test(start_paused = true)]
    async fn a_worker_wakes_for_an_added_key_and_two_workers_for_two() {
        let queue = WorkQueue::new("q");
        let workers = [tokio::spawn(take(queue.clone())), tokio::spawn(take(queue.clone()))];
        tokio::task::yield_now().await;
        queue.add("a", &[]);
        queue.add("b", &[]);
        let mut taken = Vec::new();
        for worker in workers {
            taken.push(worker.await.unwrap());
        }
        assert_eq!(taken, ["a", "b"]);
    }

    async fn take(queue: WorkQueue<&'static str>) -> &'static str {
        queue.get().await.expect("the queue is not shut down").key
    }

    #[tokio::test(start_paused = true)]
    async fn a_delayed_key_comes_when_due_and_the_earlier_delay_wins() {
        let queue = WorkQueue::new("q");
        let start = Instant::now();
        queue.add_after("a", Duration::from_secs(60), &[]);
        queue.add_after("a", Duration::from_secs(30), &[]);
        queue.add_after("a", Duration::from_secs(90), &[]);
        assert!(queue.is_empty());
        assert_eq!(take(queue.clone()).await, "a");
        assert_eq!(start.elapsed(), Duration::from_secs(30));
        queue.done(&"a");
        assert!(tokio::time::timeout(Duration::from_secs(3600), queue.get()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_longer_than_any_clock_is_a_very_long_one() {
        let queue = WorkQueue::new("q");
        queue.add_after("never", Duration::MAX, &[]);
        queue.add_after("soon", Duration::from_secs(1), &[]);
        assert_eq!(take(queue.clone()).await, "soon");
        assert!(tokio::time::timeout(Duration::from_secs(3600), queue.get()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_delay_is_noticed_by_a_worker_that_waits_for_a_later_one() {
        let queue = WorkQueue::new("q");
        queue.add_after("late", Duration::from_secs(60), &[]);
        let worker = tokio::spawn(take(queue.clone()));
        tokio::task::yield_now().await;
        queue.add_after("early", Duration::from_secs(1), &[]);
        assert_eq!(worker.await.unwrap(), "early");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_key_backs_off_until_it_is_forgotten() {
        let queue = WorkQueue::new("q");
        let mut waits = Vec::new();
        for _ in 0..4 {
            let start = Instant::now();
            queue.add_rate_limited("a", &[]);
            take(queue.clone()).await;
            queue.done(&"a");
            waits.push(start.elapsed().as_millis());
        }
        assert_eq!(waits, [5, 10, 20, 40]);
        assert_eq!(queue.requeues(&"a"), 4);
        queue.forget(&"a");
        assert_eq!(queue.requeues(&"a"), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn shutting_down_hands_out_what_is_ready_and_draining_waits_for_it() {
        let queue = WorkQueue::new("q");
        queue.add("a", &[]);
        queue.add_after("later", Duration::from_secs(1), &[]);
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move {
                let mut worked = Vec::new();
                while let Some(work) = queue.get().await {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    queue.done(&work.key);
                    worked.push(work.key);
                }
                worked
            }
        });
        tokio::task::yield_now().await;
        let start = Instant::now();
        queue.shut_down_with_drain().await;
        queue.add("refused", &[]);
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        assert_eq!(worker.await.unwrap(), ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn shutting_down_wakes_every_worker() {
        let queue: WorkQueue<u8> = WorkQueue::new("q");
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.get().await })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.shut_down();
        for worker in workers {
            assert_eq!(worker.await.unwrap(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_log_says_what_was_merged_and_names_all_causes() {
        let recorder = Recorder::ring(100);
        let first = recorder.record("t", Stage::HandlerCall, Detail::default).unwrap();
        let second = recorder.record("t", Stage::HandlerCall, Detail::default).unwrap();
        let queue = WorkQueue::recorded("pods", "controller", recorder.clone());
        queue.add("default/web", &[first]);
        queue.add("default/web", &[second]);
        let work = queue.get().await.unwrap();
        queue.add("default/web", &[first]);
        queue.done(&work.key);

        let entries = recorder.entries(EntryId(3));
        let words: Vec<_> = entries.iter().map(|entry| entry.stage.word()).collect();
        assert_eq!(words, ["queue.add", "queue.add", "queue.get", "queue.add", "queue.done"]);
        let how: Vec<_> = entries.iter().filter_map(|entry| entry.data.get("how")?.as_str()).collect();
        assert_eq!(how, ["queued", "merged", "marked-dirty"]);
        assert_eq!(entries[2].causes, [entries[0].id, entries[1].id]);
        assert_eq!(work.cause, Some(entries[2].id));
        assert_eq!(entries[4].causes, [entries[2].id]);
        assert_eq!(entries[4].data["requeued"], true);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn workers_never_share_a_key_and_every_addition_is_worked_on(
            additions in proptest::collection::vec((0..6_u8, 0..20_u64, 0..3_u8), 1..80),
            workers in 1..5_usize,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time().start_paused(true).build().expect("a paused runtime");
            runtime.block_on(async move {
                let queue = WorkQueue::new("q");
                let state = Arc::new(Mutex::new((Vec::<u8>::new(), std::collections::BTreeMap::<u8, Instant>::new())));
                let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(queue.clone(), state.clone()))).collect();
                let mut last = std::collections::BTreeMap::new();
                for (key, pause, how) in additions {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    match how {
                        0 => queue.add(key, &[]),
                        1 => queue.add_after(key, Duration::from_millis(pause * 3), &[]),
                        _ => queue.add_rate_limited(key, &[]),
                    }
                    last.insert(key, Instant::now());
                }
                tokio::time::sleep(Duration::from_secs(5000)).await;
                queue.shut_down_with_drain().await;
                for task in tasks {
                    task.await.expect("no worker saw its key in other hands");
                }
                let begun = state.lock().1.clone();
                for (key, added) in last {
                    assert!(begun[&key] >= added, "{key} was added and not worked on afterwards");
                }
            });
        }
    }

    type Seen = Arc<Mutex<(Vec<u8>, std::collections::BTreeMap<u8, Instant>)>>;

    async fn work(queue: WorkQueue<u8>, seen: Seen) {
        while let Some(work) = queue.get().await {
            {
                let mut seen = seen.lock();
                assert!(!seen.0.contains(&work.key), "{} has two workers", work.key);
                seen.0.push(work.key);
                seen.1.insert(work.key, Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(7)).await;
            seen.lock().0.retain(|key| *key != work.key);
            queue.done(&work.key);
        }
    }
}
