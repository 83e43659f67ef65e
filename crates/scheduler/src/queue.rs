use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_meta::ObjectKey;
use tokio::time::Instant;

use crate::framework::{ClusterEvent, Hint};
use crate::in_flight::InFlightEvents;

/// The back-off of a pod after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure; doubles with each. In Kubernetes: `podInitialBackoffSeconds`.
    pub initial: Duration,
    /// The maximum. In Kubernetes: `podMaxBackoffSeconds`.
    pub longest: Duration,
}

impl Default for Backoff {
    /// 1 s, 10 s.
    fn default() -> Self {
        Self { initial: Duration::from_secs(1), longest: Duration::from_secs(10) }
    }
}

/// How long a pod may stay unschedulable without an event that may help it.
pub(crate) const LONGEST_UNSCHEDULABLE: Duration = Duration::from_secs(5 * 60);
/// How often the queue is checked for such pods.
pub(crate) const FLUSH_UNSCHEDULABLE: Duration = Duration::from_secs(30);

/// The pods that wait for a node.
///
/// ```text
///        add                    pop                 chosen, removed
///  ------------> active -----------------> in flight ---------->
///                 ^  ^                         | rejected by plug-ins        | error
///    back-off over|  |event, not backing off   v                             v
///               backoff <---event, backing off--- unschedulable           backoff
/// ```
/// Invariant: a pod is in exactly one of the four places. Each place except the last is sorted by the order in which
/// pods leave it, so that no operation scans other pods. Pure: time is an argument, and nothing here waits. In
/// Kubernetes: `PriorityQueue` in `pkg/scheduler/backend/queue`.
#[derive(Debug, Default)]
pub struct SchedulingQueue {
    backoff_times: Backoff,
    pods: BTreeMap<ObjectKey, QueuedPod>,
    active: BTreeSet<ActiveOrder>,
    /// After a rejection: the earliest back-off end first, then the most important.
    backoff: BTreeSet<BackoffOrder>,
    /// After an error.
    error_backoff: BTreeSet<BackoffOrder>,
    unschedulable: BTreeSet<(Instant, u64, ObjectKey)>,
    /// An index of the unschedulable pods by the plug-ins that rejected them.
    rejected_by: BTreeMap<&'static str, BTreeSet<ObjectKey>>,
    events: InFlightEvents,
    sequence: u64,
}

/// Higher priority first, then longer waiting time, then order of arrival.
type ActiveOrder = (Reverse<i32>, Instant, u64, ObjectKey);
/// Earlier back-off end first, then as for active pods.
type BackoffOrder = (Instant, Reverse<i32>, u64, ObjectKey);

/// One pod of the queue.
#[derive(Clone, Debug)]
pub struct QueuedPod {
    /// The pod.
    pub key: ObjectKey,
    /// Its priority.
    pub priority: i32,
    /// The number of scheduling attempts.
    pub attempts: u32,
    /// The plug-ins that rejected it last; empty after an error.
    pub rejected_by: BTreeSet<&'static str>,
    /// When it was added to the queue.
    pub came_at: Instant,
    queued_at: Instant,
    /// The time of the last failure; the time it was added before the first one.
    failed_at: Instant,
    rejections: u32,
    errors: u32,
    sequence: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Active,
    Backoff { until: Instant, after_error: bool },
    Unschedulable,
    InFlight,
}

/// Where a pod waits, for callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// In the active queue.
    Active,
    /// In back-off.
    Backoff,
    /// Waiting for an event that may help it.
    Unschedulable,
    /// It is being scheduled now.
    InFlight,
}

impl SchedulingQueue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff_times: backoff, ..Self::default() }
    }

    /// Adds an unscheduled pod; one that is already queued keeps its place and gets the new priority.
    pub fn add(&mut self, key: ObjectKey, priority: i32, now: Instant) {
        if self.pods.contains_key(&key) {
            return;
        }
        self.sequence += 1;
        let pod = QueuedPod {
            key: key.clone(),
            priority,
            attempts: 0,
            rejected_by: BTreeSet::new(),
            came_at: now,
            queued_at: now,
            failed_at: now,
            rejections: 0,
            errors: 0,
            sequence: self.sequence,
            place: Place::InFlight,
        };
        self.pods.insert(key.clone(), pod);
        self.activate(&key);
    }

    /// Removes a pod: it is bound, deleted, or belongs to another scheduler.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.leave(key);
        self.pods.remove(key);
    }

    /// The next pod. If none is active, a pod in back-off after a rejection (not after an error) is returned early.
    /// The pod stays in flight until [`Self::remove`], [`Self::reject`] or [`Self::fail`].
    pub fn pop(&mut self, now: Instant) -> Option<QueuedPod> {
        self.flush(now);
        let (.., key) = match self.active.first() {
            Some(first) => first.clone(),
            None => {
                let (_, priority, sequence, key) = self.backoff.first()?.clone();
                (priority, now, sequence, key)
            }
        };
        self.leave(&key);
        self.events.enter(&key);
        let pod = self.pods.get_mut(&key).expect("every key of the queue has its pod");
        pod.attempts += 1;
        Some(pod.clone())
    }

    /// A node was chosen for the pod: later events do not matter, because no plug-in rejects it any more, but its
    /// binding may still [`Self::fail`]. In Kubernetes: `Done`.
    pub fn chosen(&mut self, key: &ObjectKey) {
        self.events.leave(key);
    }

    /// No node fits: the pod waits for an event that may help it according to `hint`. Events while it was in flight
    /// count.
    pub fn reject(
        &mut self,
        key: &ObjectKey,
        by: BTreeSet<&'static str>,
        now: Instant,
        hint: impl Fn(&str, &ClusterEvent) -> Hint,
    ) {
        let helped = self.events.missed(key).any(|event| by.iter().any(|plugin| hint(plugin, event) == Hint::Queue));
        self.leave(key);
        let Some(pod) = self.pods.get_mut(key) else { return };
        pod.rejections += 1;
        pod.errors = 0;
        pod.failed_at = now;
        pod.queued_at = now;
        pod.rejected_by = by;
        pod.place = Place::Unschedulable;
        for plugin in &pod.rejected_by {
            self.rejected_by.entry(plugin).or_default().insert(key.clone());
        }
        self.unschedulable.insert((now, pod.sequence, key.clone()));
        if helped {
            self.leave_unschedulable(key, now);
        }
    }

    /// An error that is not a rejection: the pod is retried after its back-off, whatever happens.
    pub fn fail(&mut self, key: &ObjectKey, now: Instant) {
        self.leave(key);
        if let Some(pod) = self.pods.get_mut(key) {
            pod.errors += 1;
            pod.failed_at = now;
            pod.queued_at = now;
            pod.rejected_by.clear();
            pod.place = Place::Backoff { until: pod.back_off_until(self.backoff_times), after_error: true };
            self.error_backoff.extend(pod.backoff_order());
        }
    }

    /// Handles an event: pods that it may help leave the unschedulable pods. Only pods that one of `plugins` rejected
    /// are considered; these are the plug-ins that registered for the event.
    pub fn on_event(
        &mut self,
        event: &ClusterEvent,
        plugins: impl IntoIterator<Item = &'static str>,
        now: Instant,
        hint: impl Fn(&ObjectKey, &str, &ClusterEvent) -> Hint,
    ) {
        self.events.happened(event);
        let mut helped = BTreeSet::new();
        for plugin in plugins {
            let rejected = self.rejected_by.get(plugin).into_iter().flatten();
            helped.extend(rejected.filter(|key| hint(key, plugin, event) == Hint::Queue).cloned());
        }
        for key in helped {
            self.leave_unschedulable(&key, now);
        }
    }

    /// The pod changed in a way that may make it fit: it is retried after its remaining back-off.
    pub fn retry(&mut self, key: &ObjectKey, now: Instant) {
        if self.pods.get(key).is_some_and(|pod| pod.place == Place::Unschedulable) {
            self.leave_unschedulable(key, now);
        }
    }

    /// When [`Self::pop`] will next return a pod, if no event happens and it returns none now.
    pub fn next_wake(&self) -> Option<Instant> {
        let unschedulable = self.unschedulable.first().map(|(failed_at, ..)| *failed_at);
        let backoff =
            [self.backoff.first(), self.error_backoff.first()].into_iter().flatten().map(|(until, ..)| *until);
        backoff.chain(unschedulable.map(|at| at + LONGEST_UNSCHEDULABLE + FLUSH_UNSCHEDULABLE)).min()
    }

    /// Where the pod waits, if it is queued.
    pub fn waiting(&self, key: &ObjectKey) -> Option<Waiting> {
        self.pods.get(key).map(|pod| match pod.place {
            Place::Active => Waiting::Active,
            Place::Backoff { .. } => Waiting::Backoff,
            Place::Unschedulable => Waiting::Unschedulable,
            Place::InFlight => Waiting::InFlight,
        })
    }

    /// A pod that is active, in flight or in back-off; with `without_nodes`, only one that was never tried, or that is
    /// tried now.
    pub(crate) fn outstanding(&self, without_nodes: bool) -> Option<&ObjectKey> {
        let is_outstanding = |pod: &QueuedPod| match pod.place {
            Place::Unschedulable => false,
            Place::InFlight => true,
            Place::Active | Place::Backoff { .. } => !without_nodes || pod.attempts == 0,
        };
        self.pods.iter().find(|(_, pod)| is_outstanding(pod)).map(|(key, _)| key)
    }

    /// The numbers of active pods, pods in back-off, and unschedulable pods.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.active.len(), self.backoff.len() + self.error_backoff.len(), self.unschedulable.len()]
    }

    /// The unschedulable pods, by the plug-ins that rejected them.
    pub(crate) fn rejected(&self) -> impl Iterator<Item = (&'static str, &BTreeSet<ObjectKey>)> {
        self.rejected_by.iter().filter(|(_, pods)| !pods.is_empty()).map(|(plugin, pods)| (*plugin, pods))
    }

    /// How many pods are queued or in flight.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether no pod is queued or in flight.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    fn flush(&mut self, now: Instant) {
        loop {
            let backoff = [self.backoff.first(), self.error_backoff.first()].into_iter().flatten();
            let over = backoff.filter(|(until, ..)| *until <= now).map(|(.., key)| key).next();
            let left = self.unschedulable.first().filter(|(failed_at, ..)| *failed_at + LONGEST_UNSCHEDULABLE <= now);
            let Some(key) = over.or(left.map(|(.., key)| key)).cloned() else { return };
            self.activate(&key);
        }
    }

    fn leave_unschedulable(&mut self, key: &ObjectKey, now: Instant) {
        self.leave(key);
        let Some(pod) = self.pods.get_mut(key) else { return };
        let until = pod.back_off_until(self.backoff_times);
        if until > now {
            pod.place = Place::Backoff { until, after_error: false };
            self.backoff.extend(pod.backoff_order());
        } else {
            self.activate(key);
        }
    }

    fn activate(&mut self, key: &ObjectKey) {
        self.leave(key);
        let pod = self.pods.get_mut(key).expect("only pods of the queue are activated");
        pod.place = Place::Active;
        self.active.insert(pod.active_order());
    }

    /// Removes the pod from its place; it is then in flight.
    fn leave(&mut self, key: &ObjectKey) {
        let Some(pod) = self.pods.get_mut(key) else { return };
        match pod.place {
            Place::Active => {
                self.active.remove(&pod.active_order());
            }
            Place::Backoff { after_error, .. } => {
                let backoff = if after_error { &mut self.error_backoff } else { &mut self.backoff };
                pod.backoff_order().map(|order| backoff.remove(&order));
            }
            Place::Unschedulable => {
                self.unschedulable.remove(&(pod.failed_at, pod.sequence, key.clone()));
                for plugin in &pod.rejected_by {
                    if let Some(keys) = self.rejected_by.get_mut(plugin) {
                        keys.remove(key);
                    }
                }
            }
            Place::InFlight => self.events.leave(key),
        }
        pod.place = Place::InFlight;
    }
}

impl QueuedPod {
    /// In Kubernetes back-off windows are whole seconds since the scheduler's start; here they start at the failure.
    fn back_off_until(&self, times: Backoff) -> Instant {
        let failures = if self.errors > 0 { self.errors } else { self.rejections };
        let back_off = match failures {
            0 => Duration::ZERO,
            failures => times.initial.saturating_mul(1 << (failures - 1).min(16)).min(times.longest),
        };
        self.failed_at + back_off
    }

    fn active_order(&self) -> ActiveOrder {
        (Reverse(self.priority), self.queued_at, self.sequence, self.key.clone())
    }

    /// `None` without a back-off.
    fn backoff_order(&self) -> Option<BackoffOrder> {
        let Place::Backoff { until, .. } = self.place else { return None };
        Some((until, Reverse(self.priority), self.sequence, self.key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("default", name)
    }

    fn never(_: &str, _: &ClusterEvent) -> Hint {
        Hint::Skip
    }

    fn event() -> ClusterEvent {
        ClusterEvent::PodGone(std::sync::Arc::default())
    }

    fn start() -> Instant {
        Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn higher_priority_goes_first_and_then_who_waited_longer() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        queue.add(key("b"), 10, now);
        queue.add(key("c"), 10, now);
        let order: Vec<String> = std::iter::from_fn(|| queue.pop(now)).map(|pod| pod.key.name).collect();
        assert_eq!(order, ["b", "c", "a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_pod_waits_for_an_event_that_its_plugin_cares_for() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        queue.pop(now).unwrap();
        queue.reject(&key("a"), BTreeSet::from(["NodeAffinity"]), now, never);
        let later = now + Duration::from_secs(20);
        assert!(queue.pop(later).is_none());
        queue.on_event(&event(), ["NodeAffinity"], later, |_, _, _| Hint::Skip);
        assert_eq!(queue.waiting(&key("a")), Some(Waiting::Unschedulable));
        queue.on_event(&event(), ["NodeAffinity"], later, |_, plugin, _| {
            if plugin == "NodeAffinity" { Hint::Queue } else { Hint::Skip }
        });
        assert_eq!(queue.pop(later).unwrap().attempts, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_during_the_attempt_is_not_lost() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        queue.pop(now).unwrap();
        queue.on_event(&event(), ["NodeAffinity"], now, |_, _, _| Hint::Queue);
        queue.reject(&key("a"), BTreeSet::from(["NodeAffinity"]), now, |_, _| Hint::Queue);
        assert_eq!(queue.waiting(&key("a")), Some(Waiting::Backoff));
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_scheduler_shortens_a_back_off_but_not_one_after_an_error() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("rejected"), 0, now);
        queue.pop(now).unwrap();
        queue.reject(&key("rejected"), BTreeSet::from(["NodeAffinity"]), now, never);
        queue.on_event(&event(), ["NodeAffinity"], now, |_, _, _| Hint::Queue);
        assert_eq!(queue.pop(now).unwrap().key.name, "rejected");

        queue.add(key("failed"), 0, now);
        queue.pop(now).unwrap();
        queue.fail(&key("failed"), now);
        queue.on_event(&event(), ["NodeAffinity"], now, |_, _, _| Hint::Queue);
        assert!(queue.pop(now).is_none());
        assert_eq!(queue.next_wake(), Some(now + Backoff::default().initial));
        assert!(queue.pop(now + Backoff::default().initial).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn back_off_doubles_up_to_ten_seconds() {
        let (mut queue, mut now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        let mut waits = Vec::new();
        for _ in 0..6 {
            queue.pop(now).unwrap();
            queue.fail(&key("a"), now);
            let wake = queue.next_wake().unwrap();
            waits.push((wake - now).as_secs());
            now = wake;
        }
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn after_five_minutes_a_pod_is_tried_again_although_nothing_happened() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        queue.pop(now).unwrap();
        queue.reject(&key("a"), BTreeSet::from(["NodeAffinity"]), now, never);
        assert!(queue.pop(now + LONGEST_UNSCHEDULABLE - Duration::from_secs(1)).is_none());
        assert!(queue.pop(now + LONGEST_UNSCHEDULABLE).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn only_pods_whose_plugin_cares_for_an_event_are_asked() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        for (name, plugin) in [("a", "NodeAffinity"), ("b", "NodePorts")] {
            queue.add(key(name), 0, now);
            queue.pop(now).unwrap();
            queue.reject(&key(name), BTreeSet::from([plugin]), now, never);
        }
        queue.on_event(&event(), ["NodePorts"], now, |asked, _, _| {
            assert_eq!(asked.name, "b");
            Hint::Queue
        });
        assert_eq!(queue.waiting(&key("a")), Some(Waiting::Unschedulable));
        assert_eq!(queue.waiting(&key("b")), Some(Waiting::Backoff));
    }

    #[tokio::test(start_paused = true)]
    async fn a_removed_pod_is_in_no_queue() {
        let (mut queue, now) = (SchedulingQueue::new(Backoff::default()), start());
        queue.add(key("a"), 0, now);
        queue.remove(&key("a"));
        assert!(queue.pop(now).is_none());
        assert!(queue.is_empty());
    }
}
