mod devices;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Random;
use coracle_api::core_v1::{Node, Pod};
use coracle_journal::EntryId;
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use tokio::time::Instant;

use crate::assumed::Assumed;
use crate::attachable::Attachable;
use crate::cache::Cache;
use crate::cycle::{Choice, SchedulingFailure, Unfit, schedule_with};
use crate::filters::place;
use crate::framework::{ClusterEvent, Hint};
use crate::memo::Memo;
use crate::metrics::Sizes;
use crate::pod_info::{PodInfo, PodVolumes};
use crate::preemption::Budget;
use crate::profile::Profile;
use crate::queue::{Backoff, QueuedPod, SchedulingQueue};
use crate::read::{node_info, pod_info};
use crate::reserved::Reserved;

use self::devices::claims_to_bind;
pub use self::room::Room;

/// The scheduler as a value: informer events go in, decisions come out. No I/O, and time is an argument.
///
/// ```text
/// node, pod, namespace, tell --> queue, cache --next--> Attempt --(shell writes)--> bound | gave_up
/// ```
/// A pod counts on its chosen node at once, so that the next decision sees it.
#[derive(Debug)]
pub struct SchedulerState {
    profiles: BTreeMap<String, Arc<Profile>>,
    queue: SchedulingQueue,
    cache: Cache,
    waiting: BTreeMap<ObjectKey, Pending>,
    /// The pods that wait for the removal of their scheduling gates, or for the creation of their ResourceClaims.
    gated: BTreeMap<ObjectKey, Arc<Pod>>,
    assumed: Assumed,
    memo: Memo,
    start: usize,
    ties: Random,
    offsets: Random,
}

/// The last version of an unscheduled pod, and its causes in the event log.
#[derive(Clone, Debug)]
struct Pending {
    pod: Arc<Pod>,
    info: Arc<PodInfo>,
    profile: Arc<Profile>,
    causes: Vec<EntryId>,
}

/// The inputs of a decision other than nodes and pods.
pub trait Surroundings {
    /// The selector of the pods of the same owner and services; `None` without them.
    fn siblings(&self, pod: &Pod) -> Option<LabelSelector>;

    /// The pod's volumes, given the assumed volumes of other claims.
    fn volumes(&self, pod: &Pod, assumed: &Assumed) -> PodVolumes;

    /// The budgets that preemption respects where possible.
    fn budgets(&self) -> Vec<Budget>;
}

/// A pod that was popped, and the decision.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its scheduling view.
    pub info: Arc<PodInfo>,
    /// The profile that was used.
    pub profile: Arc<Profile>,
    /// The event log entries that caused this attempt.
    pub causes: Vec<EntryId>,
    /// The number of attempts, including this one.
    pub tries: u32,
    /// When it was added to the queue.
    pub came_at: Instant,
    /// The decision.
    pub decision: SchedulingDecision,
}

/// The decision about a pod.
#[derive(Clone, Debug)]
pub enum SchedulingDecision {
    /// Bind it to the node; its claims come first.
    Bind(Choice, Reserved),
    /// There are no nodes.
    NoNodes,
    /// No node fits; preemption may make room.
    Unfit(Box<Unfit>, Room),
}

impl SchedulerState {
    /// An empty state; it handles the pods whose `spec.schedulerName` is that of a profile.
    pub fn new(profiles: &[Arc<Profile>], backoff: Backoff, random: &Random) -> Self {
        Self {
            profiles: profiles.iter().map(|profile| (profile.name.clone(), profile.clone())).collect(),
            queue: SchedulingQueue::new(backoff),
            cache: Cache::default(),
            waiting: BTreeMap::new(),
            gated: BTreeMap::new(),
            assumed: Assumed::default(),
            memo: Memo::default(),
            start: 0,
            ties: random.split("ties"),
            offsets: random.split("preemption"),
        }
    }

    /// Pops the next pod and decides; `None` if no pod is due.
    pub fn next(&mut self, now: Instant, around: &impl Surroundings) -> Option<Attempt> {
        loop {
            let QueuedPod { key, attempts, came_at, .. } = self.queue.pop(now)?;
            match self.waiting.get_mut(&key) {
                Some(pending) => {
                    let causes = std::mem::take(&mut pending.causes);
                    let pending = Pending { causes, ..pending.clone() };
                    let attempt = self.decide(pending, now, around);
                    return Some(Attempt { tries: attempts, came_at, ..attempt });
                }
                None => self.queue.remove(&key),
            }
        }
    }

    fn decide(&mut self, pending: Pending, now: Instant, around: &impl Surroundings) -> Attempt {
        let Pending { pod, info, profile, causes } = pending;
        let mut info = PodInfo::clone(&info);
        info.siblings = around.siblings(&pod);
        if !info.claims.is_empty() {
            info.volumes = around.volumes(&pod, &self.assumed);
        }
        let snapshot = self.cache.snapshot();
        let ties = self.ties.keyed(&[&info.key.namespace, &info.key.name]);
        let result = schedule_with(&mut self.memo, &profile, &info, snapshot, self.start, &ties);
        let info = Arc::new(info);
        let decision = match result {
            Ok(choice) => {
                let node = snapshot.node(&choice.node).filter(|_| profile.binds_volumes);
                let volumes = node.and_then(|node| place(&info.volumes, node).ok()).unwrap_or_default();
                let node = snapshot.node(&choice.node).filter(|_| profile.binds_claims);
                let claims = node.map(|node| claims_to_bind(&info, snapshot, node)).unwrap_or_default();
                let reserved = Reserved { volumes, claims };
                self.start += choice.evaluated;
                self.take(&info, &choice.node, &reserved);
                SchedulingDecision::Bind(choice, reserved)
            }
            Err(SchedulingFailure::NoNodes) => {
                self.queue.fail(&info.key, now);
                SchedulingDecision::NoNodes
            }
            Err(SchedulingFailure::Unfit(mut unfit)) => {
                let room = self.seek_room(&profile, &info, &mut unfit, around);
                let hint = |plugin: &str, event: &_| profile.hint(plugin, &info, event);
                self.queue.reject(&info.key, unfit.rejected_by.clone(), now, hint);
                if let Some(victims) = &room.victims {
                    self.cache.nominate(info.clone(), Some(victims.node.clone()));
                }
                // Hints for later events must see the pod as the rejection saw it.
                if let Some(pending) = self.waiting.get_mut(&info.key) {
                    pending.info = info.clone();
                }
                SchedulingDecision::Unfit(unfit, room)
            }
        };
        Attempt { pod, info, profile, causes, decision, tries: 0, came_at: now }
    }

    fn take(&mut self, info: &Arc<PodInfo>, node: &str, reserved: &Reserved) {
        self.assumed.take(&info.key, node, &reserved.volumes);
        for one in &reserved.claims {
            if let Some(allocation) = &one.allocation {
                self.cache.inventory_mut().take(&info.key, &one.claim.key(), allocation.clone());
            }
        }
        self.queue.chosen(&info.key);
        self.cache.assume(node, info.clone());
    }

    /// When [`Self::next`] will next return a decision, if no event happens and it returns none now.
    pub fn next_wake(&self) -> Option<Instant> {
        self.queue.next_wake()
    }

    /// The API server accepted the binding.
    pub fn bound(&mut self, key: &ObjectKey) {
        self.assumed.release(key);
        self.cache.inventory_mut().release(key);
        self.queue.remove(key);
        self.waiting.remove(key);
    }

    /// The binding failed: the pod is retried after its back-off. True if it still waits.
    pub fn gave_up(&mut self, key: &ObjectKey, now: Instant) -> bool {
        self.assumed.release(key);
        self.cache.inventory_mut().release(key);
        self.cache.forget(key);
        self.queue.fail(key, now);
        self.waiting.contains_key(key)
    }

    /// Passes an event to the waiting pods.
    pub fn tell(&mut self, event: &ClusterEvent, now: Instant) {
        let waiting = &self.waiting;
        let who: BTreeSet<_> = self.profiles.values().flat_map(|profile| profile.who_care_for(event)).collect();
        self.queue.on_event(event, who, now, |key, plugin, event| {
            waiting.get(key).map_or(Hint::Skip, |pending| pending.profile.hint(plugin, &pending.info, event))
        });
    }

    /// Sets the labels of a namespace; `None` if it is deleted.
    pub fn namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        self.cache.set_namespace(name, labels);
    }

    /// A pod that is being scheduled or will be without a further event. Without nodes, a pod that was tried waits for
    /// a node, although it is tried again and again.
    pub(crate) fn outstanding(&self) -> Option<&ObjectKey> {
        self.queue.outstanding(self.cache.snapshot().is_empty())
    }

    /// The current sizes, for metrics.
    pub(crate) fn sizes(&self) -> Sizes {
        let [active, backoff, unschedulable] = self.queue.sizes();
        let (nodes, pods, assumed) = self.cache.sizes();
        let mut rejected = BTreeMap::new();
        for (plugin, keys) in self.queue.rejected() {
            for pending in keys.iter().filter_map(|key| self.waiting.get(key)) {
                *rejected.entry((plugin, pending.profile.name.clone())).or_default() += 1;
            }
        }
        let queues = [active, backoff, unschedulable, self.gated.len()];
        Sizes { queues, nodes, pods, assumed, unschedulable: rejected }
    }

    /// The attached CSI volumes of nodes, and their limits.
    pub(crate) fn attachable_mut(&mut self) -> &mut Attachable {
        self.cache.attachable_mut()
    }

    /// A node was added or changed.
    pub fn node(&mut self, node: &Node, now: Instant) {
        if let Some((before, after)) = self.cache.set_node(node_info(node)) {
            self.tell(&ClusterEvent::Node { before, after }, now);
        }
    }

    /// A node was deleted.
    pub fn node_gone(&mut self, name: &str) {
        self.cache.remove_node(name);
    }

    /// A pod was added or changed; `old` is its previous version, if known.
    pub fn pod(&mut self, old: Option<&Pod>, pod: &Arc<Pod>, causes: &[EntryId], now: Instant) {
        let key = pod.key();
        if pod.is_finished() {
            return self.pod_gone(&key, now);
        }
        if let Some(node) = pod.node_name() {
            return self.pod_on_node(&key, pod, node, now);
        }
        let profile = self.profiles.get(&pod.spec.scheduler_name);
        let is_ready =
            |profile: &Profile| !pod.is_terminating() && (pod.spec.scheduling_gates.is_empty() || !profile.heeds_gates);
        let is_gated = profile.is_some() && !pod.is_terminating();
        let Some(profile) = profile.filter(|profile| is_ready(profile)).cloned() else {
            self.queue.remove(&key);
            self.waiting.remove(&key);
            if is_gated {
                self.gated.insert(key, pod.clone());
            } else {
                self.gated.remove(&key);
            }
            return;
        };
        if self.cache.is_assumed(&key) {
            return;
        }
        let mut info = pod_info(pod, None);
        let mut earlier = Vec::new();
        if let Some(before) = self.waiting.remove(&key) {
            earlier = before.causes;
            info.siblings.clone_from(&before.info.siblings);
            info.volumes.clone_from(&before.info.volumes);
        }
        earlier.extend(causes);
        self.gated.remove(&key);
        if profile.awaits_claims && info.claims_devices() && self.cache.snapshot().inventory().claims_of(&info).is_err()
        {
            self.queue.remove(&key);
            self.gated.insert(key, pod.clone());
            return;
        }
        let info = Arc::new(info);
        self.cache.nominate(info.clone(), info.nominated_node.clone());
        self.queue.add(key.clone(), info.priority, now);
        self.waiting.insert(key.clone(), Pending { pod: pod.clone(), info, profile, causes: earlier });
        // The scheduler itself writes the pod's status; only a change of its requirements justifies a retry.
        let asks_otherwise = |old: &Pod| {
            old.spec != pod.spec
                || old.metadata.labels != pod.metadata.labels
                || old.status.resource_claim_statuses != pod.status.resource_claim_statuses
        };
        if old.is_some_and(asks_otherwise) {
            self.queue.retry(&key, now);
        }
    }

    fn pod_on_node(&mut self, key: &ObjectKey, pod: &Pod, node: &str, now: Instant) {
        self.queue.remove(key);
        self.waiting.remove(key);
        self.gated.remove(key);
        let info = Arc::new(pod_info(pod, None));
        self.cache.nominate(info.clone(), None);
        if self.cache.place(node, info.clone()) {
            self.tell(&ClusterEvent::PodAssigned(info), now);
        }
    }

    /// A pod was deleted, or has finished.
    pub fn pod_gone(&mut self, key: &ObjectKey, now: Instant) {
        self.queue.remove(key);
        self.waiting.remove(key);
        self.gated.remove(key);
        if let Some(gone) = self.cache.remove(key) {
            self.tell(&ClusterEvent::PodGone(gone), now);
        }
    }
}

#[cfg(test)]
mod tests;
