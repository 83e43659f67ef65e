use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Random;
use coracle_api::core_v1::{Node, Pod};
use coracle_api::resource_v1::ResourceClaim;
use coracle_journal::EntryId;
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use tokio::time::Instant;

use crate::assumed::Assumed;
use crate::attachable::Attachable;
use crate::cache::Cache;
use crate::cycle::{Choice, Failure, Unfit, schedule_with};
use crate::devices::{Inventory, is_available, is_reserved};
use crate::filters::{place, to_allocate};
use crate::framework::{ClusterEvent, Hint};
use crate::memo::Memo;
use crate::metrics::Sizes;
use crate::node_info::NodeInfo;
use crate::pod_info::{PodInfo, PodVolumes};
use crate::preemption::{Budget, Victims, preempt_with};
use crate::profile::Profile;
use crate::queue::{Backoff, QueuedPod, SchedulingQueue};
use crate::read::{node_info, pod_info};
use crate::reserved::{Reserved, ReservedClaim};
use crate::snapshot::Snapshot;

/// The scheduler as a value: what informers tell goes in, decisions come out. No I/O, and time is an argument.
///
/// ```text
/// node, pod, namespace, tell --> queue, cache --next--> Attempt --(shell writes)--> bound | gave_up
/// ```
/// A pod that was given a node counts there at once, so that the next decision sees it.
#[derive(Debug)]
pub struct State {
    profiles: BTreeMap<String, Arc<Profile>>,
    queue: SchedulingQueue,
    cache: Cache,
    waiting: BTreeMap<ObjectKey, Pending>,
    /// The pods that wait for their gates to go, or for their claims on devices to be made.
    gated: BTreeMap<ObjectKey, Arc<Pod>>,
    assumed: Assumed,
    memo: Memo,
    start: usize,
    ties: Random,
    offsets: Random,
}

/// A pod without a node, as it was last seen, and what led to its being looked at.
#[derive(Clone, Debug)]
struct Pending {
    pod: Arc<Pod>,
    info: Arc<PodInfo>,
    profile: Arc<Profile>,
    causes: Vec<EntryId>,
}

/// What a decision looks at beside nodes and pods.
pub trait Surroundings {
    /// What selects the pods of the same owner and services; none if there are none.
    fn siblings(&self, pod: &Pod) -> Option<LabelSelector>;

    /// The pod's volumes, beside what claims are about to get.
    fn volumes(&self, pod: &Pod, assumed: &Assumed) -> PodVolumes;

    /// The budgets that preemption spares where it can.
    fn budgets(&self) -> Vec<Budget>;
}

/// A pod whose turn it was, and what is to be done about it.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The pod.
    pub pod: Arc<Pod>,
    /// What scheduling looked at of it.
    pub info: Arc<PodInfo>,
    /// How it is scheduled.
    pub profile: Arc<Profile>,
    /// What led to its being looked at.
    pub causes: Vec<EntryId>,
    /// How often it was tried, this time included.
    pub tries: u32,
    /// When it came into the queue.
    pub came_at: Instant,
    /// What is to be done.
    pub decision: Decision,
}

/// What is to be done about a pod.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It gets a node; this is done for its claims first.
    Bind(Choice, Reserved),
    /// There is no node at all.
    NoNodes,
    /// No node takes it; this may make room.
    Unfit(Box<Unfit>, Room),
}

/// How room is made for a pod.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Who has to go, if anybody's going makes room.
    pub victims: Option<Victims>,
    /// The claim that lets go of its devices, so that the pod can go elsewhere.
    pub deallocated: Option<Arc<ResourceClaim>>,
}

impl State {
    /// Knows nothing yet; takes the pods whose `spec.schedulerName` is that of a profile.
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

    /// The next pod that is due, decided upon; none if none is.
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
        let result = schedule_with(&mut self.memo, &profile, &info, (snapshot, self.start), &self.ties);
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
                Decision::Bind(choice, reserved)
            }
            Err(Failure::NoNodes) => {
                self.queue.fail(&info.key, now);
                Decision::NoNodes
            }
            Err(Failure::Unfit(mut unfit)) => {
                let room = self.seek_room(&profile, &info, &mut unfit, around);
                let hint = |plugin: &str, event: &_| profile.hint(plugin, &info, event);
                self.queue.reject(&info.key, unfit.rejected_by.clone(), now, hint);
                if let Some(victims) = &room.victims {
                    self.cache.nominate(info.clone(), Some(victims.node.clone()));
                }
                // What it was rejected for was asked of all that was looked at; so are events from now on.
                if let Some(pending) = self.waiting.get_mut(&info.key) {
                    pending.info = info.clone();
                }
                Decision::Unfit(unfit, room)
            }
        };
        Attempt { pod, info, profile, causes, decision, tries: 0, came_at: now }
    }

    /// Who has to go for a pod that found no node; if nobody is found, the reason is added to what is said of the pod.
    /// In Kubernetes: `RunPostFilterPlugins`.
    fn seek_room(
        &mut self,
        profile: &Arc<Profile>,
        info: &PodInfo,
        unfit: &mut Unfit,
        around: &impl Surroundings,
    ) -> Room {
        let mut room = Room::default();
        let by_claims = unfit.rejected_by.contains("DynamicResources");
        if unfit.error.pre_filter.is_some() && profile.deallocates && !by_claims {
            // The plug-in that would let go of claims has not seen the pod, and says so in these words.
            unfit.error.post_filter = Some("not found".to_owned());
            return room;
        }
        let mut said: Vec<String> = Vec::new();
        if profile.deallocates {
            room.deallocated = self.to_deallocate(info);
            let has_claims = unfit.error.pre_filter.is_none() && info.claims_devices();
            let what = match (has_claims, &room.deallocated) {
                (false, _) => "no new claims to deallocate",
                (true, Some(_)) => "deallocation of ResourceClaim completed",
                (true, None) => "still not schedulable",
            };
            said.push(what.to_owned());
        }
        if profile.preemption.is_some() {
            let snapshot = self.cache.snapshot();
            let budgets = around.budgets();
            match preempt_with(&mut self.memo, profile, info, (snapshot, unfit, &budgets), &self.offsets) {
                Ok(victims) => {
                    room.victims = Some(victims);
                    return room;
                }
                Err(why) => said.push(format!("preemption: {why}")),
            }
        }
        unfit.error.post_filter = Some(said.join(", ")).filter(|said| !said.is_empty());
        room
    }

    /// A claim that has its devices where the pod cannot go, and that nobody else uses.
    fn to_deallocate(&self, info: &PodInfo) -> Option<Arc<ResourceClaim>> {
        let snapshot = self.cache.snapshot();
        let claims = snapshot.inventory().claims_of(info).ok()?;
        claims.into_iter().find(|claim| {
            let users = &claim.status.reserved_for;
            let is_own = users.iter().all(|who| who.uid == info.uid) && users.len() <= 1;
            is_own && snapshot.nodes().any(|node| !is_available(claim, node))
        })
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

    /// When [`Self::next`] would next find a pod that it does not find now, if nothing happens.
    pub fn next_wake(&self) -> Option<Instant> {
        self.queue.next_wake()
    }

    /// The API server accepted the choice.
    pub fn bound(&mut self, key: &ObjectKey) {
        self.assumed.release(key);
        self.cache.inventory_mut().release(key);
        self.queue.remove(key);
        self.waiting.remove(key);
    }

    /// The choice came to nothing: the pod is tried again after a while. True if it still waits.
    pub fn gave_up(&mut self, key: &ObjectKey, now: Instant) -> bool {
        self.assumed.release(key);
        self.cache.inventory_mut().release(key);
        self.cache.forget(key);
        self.queue.fail(key, now);
        self.waiting.contains_key(key)
    }

    /// Tells the waiting pods what happened.
    pub fn tell(&mut self, event: &ClusterEvent, now: Instant) {
        let waiting = &self.waiting;
        let who: BTreeSet<_> = self.profiles.values().flat_map(|profile| profile.who_care_for(event)).collect();
        self.queue.on_event(event, who, now, |key, plugin, event| {
            waiting.get(key).map_or(Hint::Skip, |pending| pending.profile.hint(plugin, &pending.info, event))
        });
    }

    /// A namespace has these labels; none if it is gone.
    pub fn namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        self.cache.set_namespace(name, labels);
    }

    /// How much there is of what.
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

    /// Which volumes of drivers are where.
    pub(crate) fn attachable_mut(&mut self) -> &mut Attachable {
        self.cache.attachable_mut()
    }

    /// Which devices there are.
    pub(crate) fn inventory_mut(&mut self) -> &mut Inventory {
        self.cache.inventory_mut()
    }

    /// A claim on devices is new, changed or gone; `old` is how it was, if it was known.
    pub fn resource_claim(
        &mut self,
        old: Option<&ResourceClaim>,
        claim: &Arc<ResourceClaim>,
        is_gone: bool,
        now: Instant,
    ) {
        let key = claim.key();
        self.cache.inventory_mut().set_claim(&key, (!is_gone).then(|| claim.clone()));
        let had = old.is_some_and(|old| old.status.allocation.is_some());
        let is_freed = had && claim.status.allocation.is_none();
        let is_news = old.is_none_or(|old| old.status != claim.status);
        if !is_gone && (is_news || is_freed) {
            self.tell(&ClusterEvent::ResourceClaim { key: key.clone(), is_freed }, now);
        }
        // Who waited for it to be made comes into the queue.
        let of_namespace = self.gated.values().filter(|pod| pod.metadata.namespace.as_deref() == Some(&key.namespace));
        for pod in of_namespace.cloned().collect::<Vec<_>>() {
            self.pod(None, &pod, &[], now);
        }
    }

    /// A node is new or changed.
    pub fn node(&mut self, node: &Node, now: Instant) {
        if let Some((before, after)) = self.cache.set_node(node_info(node)) {
            self.tell(&ClusterEvent::Node { before, after }, now);
        }
    }

    /// A node is gone.
    pub fn node_gone(&mut self, name: &str) {
        self.cache.remove_node(name);
    }

    /// A pod is new or changed; `old` is how it was, if it was known.
    pub fn pod(&mut self, old: Option<&Pod>, pod: &Arc<Pod>, causes: &[EntryId], now: Instant) {
        let key = pod.key();
        if pod.is_finished() {
            return self.pod_gone(&key, now);
        }
        if let Some(node) = pod.node_name() {
            self.queue.remove(&key);
            self.waiting.remove(&key);
            self.gated.remove(&key);
            let info = Arc::new(pod_info(pod, None));
            self.cache.nominate(info.clone(), None);
            if self.cache.place(node, info.clone()) {
                self.tell(&ClusterEvent::PodAssigned(info), now);
            }
            return;
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
        // Its own status is what the scheduler writes; only a change of what it asks for is worth another try.
        let asks_otherwise = |old: &Pod| {
            old.spec != pod.spec
                || old.metadata.labels != pod.metadata.labels
                || old.status.resource_claim_statuses != pod.status.resource_claim_statuses
        };
        if old.is_some_and(asks_otherwise) {
            self.queue.retry(&key, now);
        }
    }

    /// A pod is gone, or has finished.
    pub fn pod_gone(&mut self, key: &ObjectKey, now: Instant) {
        self.queue.remove(key);
        self.waiting.remove(key);
        self.gated.remove(key);
        if let Some(gone) = self.cache.remove(key) {
            self.tell(&ClusterEvent::PodGone(gone), now);
        }
    }
}

/// The pod's claims on devices that are to be met, or reserved for it, before it is bound.
fn claims_to_bind(info: &PodInfo, snapshot: &Snapshot, node: &NodeInfo) -> Vec<ReservedClaim> {
    if !info.claims_devices() {
        return Vec::new();
    }
    let claims = snapshot.inventory().claims_of(info).unwrap_or_default();
    let wanting = to_allocate(&claims);
    // A node was chosen because this came to an end with what is there now.
    let found = snapshot.inventory().allocate(&wanting, node).ok().flatten().unwrap_or_default();
    let mut allocations = found.into_iter();
    let unreserved = claims.into_iter().filter(|claim| !is_reserved(claim, info));
    unreserved
        .map(|claim| {
            let allocation = if claim.status.allocation.is_none() { allocations.next() } else { None };
            ReservedClaim { claim, allocation }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    struct Alone;

    impl Surroundings for Alone {
        fn siblings(&self, _: &Pod) -> Option<LabelSelector> {
            None
        }

        fn volumes(&self, _: &Pod, _: &Assumed) -> PodVolumes {
            PodVolumes::default()
        }

        fn budgets(&self) -> Vec<Budget> {
            Vec::new()
        }
    }

    fn node(name: &str) -> Node {
        let node = json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}});
        serde_json::from_value(node).unwrap()
    }

    fn pod(name: &str, priority: i32, cpu: &str) -> Arc<Pod> {
        let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let spec = json!({"schedulerName": "s", "priority": priority, "containers": [container]});
        let metadata = json!({"name": name, "namespace": "default", "uid": name});
        Arc::new(serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
    }

    fn state(now: Instant) -> State {
        let mut state = State::new(&[Arc::new(Profile::named("s"))], Backoff::default(), &Random::from_seed(1));
        state.node(&node("a"), now);
        state
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_counts_where_it_goes_until_its_binding_fails() {
        let now = Instant::now();
        let mut state = state(now);
        for name in ["first", "second"] {
            state.pod(None, &pod(name, 0, "600m"), &[], now);
        }
        let first = state.next(now, &Alone).unwrap();
        assert!(matches!(first.decision, Decision::Bind(Choice { ref node, .. }, _) if node == "a"));
        assert!(matches!(state.next(now, &Alone).unwrap().decision, Decision::Unfit(..)));
        assert!(state.gave_up(&first.info.key, now), "the pod still waits");
        state.pod(None, &pod("third", 0, "600m"), &[], now);
        let third = state.next(now, &Alone).unwrap();
        assert_eq!(third.info.key.name, "third");
        assert!(matches!(third.decision, Decision::Bind(..)), "the node is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn room_that_is_made_is_kept_for_who_waits_for_it() {
        let now = Instant::now();
        let mut state = state(now);
        let mut low = pod("low", 0, "600m").as_ref().clone();
        low.spec.node_name = "a".to_owned();
        state.pod(None, &Arc::new(low), &[], now);
        state.pod(None, &pod("high", 10, "600m"), &[], now);
        let high = state.next(now, &Alone).unwrap();
        let Decision::Unfit(_, Room { victims: Some(victims), .. }) = high.decision else { panic!("no victims") };
        assert_eq!((victims.node.as_str(), victims.pods[0].key.name.as_str()), ("a", "low"));
        state.pod_gone(&victims.pods[0].key, now);
        state.pod(None, &pod("other", 5, "600m"), &[], now);
        let other = state.next(now, &Alone).unwrap();
        assert_eq!(other.info.key.name, "other");
        assert!(matches!(other.decision, Decision::Unfit(..)));
        let again = state.next(now + Duration::from_secs(1), &Alone).unwrap();
        assert_eq!(again.info.key.name, "high");
        assert!(matches!(again.decision, Decision::Bind(..)));
    }
}
