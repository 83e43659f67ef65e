use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Node;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::addresses::{PodAddresses, node_address};
use crate::container::State as ContainerState;
use crate::eviction::Shortage;
use crate::lifecycle::{PodStage, Runtime};
use crate::place::Place;
use crate::program::Transcript;
use crate::reach::Reach;
use crate::refusal::{Share, Taken};
use crate::shutdown::SHUTDOWN;
use crate::static_pods::StaticPods;
use crate::usage::{Meters, is_told};
use crate::volumes::Disk;
use crate::written;

mod saved;

pub(crate) use saved::SavedMachine;

/// How many lines of a pod's log are kept.
const LINES: usize = 1000;

/// A simulated machine: the pods that run on it. It goes on while the agent that speaks for it is stopped and started.
pub(crate) struct Machine {
    /// Its place among the machines of the process, from which its addresses follow.
    pub(crate) number: u32,
    /// Its address.
    pub(crate) address: String,
    state: Mutex<State>,
    /// Rings when a pod of it has said something, or ended.
    pub(crate) spoke: Notify,
    /// How the agent that speaks for it reaches the API.
    reach: Mutex<Option<Reach>>,
    is_cut_off: AtomicBool,
    /// How often it has lost its power.
    power_cuts: AtomicU32,
    /// What its pods use.
    pub(crate) meters: Meters,
    /// The pods that are to have more than there is room for.
    waiting: Mutex<BTreeSet<ObjectKey>>,
    /// What it is short of, and who goes for it.
    pub(crate) shortage: Shortage,
    /// What is mounted on it.
    pub(crate) disk: std::sync::Arc<Disk>,
    /// What it runs by itself.
    pub(crate) static_pods: StaticPods,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    pods: BTreeMap<ObjectKey, Running>,
    addresses: PodAddresses,
}

/// A pod on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Running {
    /// Which one: an object of the same name may be another pod.
    pub(crate) uid: String,
    /// Where it is on its way.
    pub(crate) runtime: Runtime,
    /// What its containers said, the oldest first.
    pub(crate) log: VecDeque<Line>,
    /// How many lines were dropped before the first that is kept.
    pub(crate) dropped: usize,
    /// What its containers say by themselves, by their names.
    pub(crate) talks: BTreeMap<String, VecDeque<Talk>>,
    /// What it takes of the machine.
    pub(crate) share: Share,
    /// Which of the pod's containers has this name; those that have been started.
    pub(crate) places: BTreeMap<String, Place>,
    /// When the machine lost its power with it, if the pod has not begun anew since.
    #[serde(with = "written::maybe_time")]
    pub(crate) lost: Option<Timestamp>,
}

/// One run of a container whose program is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Talk {
    pub(crate) restarts: i32,
    #[serde(with = "written::time")]
    pub(crate) began: Timestamp,
    /// When it was stopped, if it has not ended by itself.
    #[serde(with = "written::maybe_time")]
    pub(crate) stopped: Option<Timestamp>,
    pub(crate) transcript: std::sync::Arc<Transcript>,
}

/// A line of a container's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Line {
    /// When it was said.
    #[serde(with = "written::time")]
    pub(crate) at: Timestamp,
    /// By which container.
    pub(crate) container: String,
    /// How often that had been started again by then.
    pub(crate) restarts: i32,
    /// What.
    pub(crate) text: String,
}

impl Running {
    /// How often a container has been started again, and whether it runs; none if it has never been started.
    pub(crate) fn run_of(&self, container: &str) -> Option<(i32, bool)> {
        let own = self.runtime.container(*self.places.get(container)?)?;
        Some((own.restarts, own.state == ContainerState::Running))
    }

    /// What a container has said in one of its runs, up to a moment; and when it says more by itself.
    pub(crate) fn said(&self, container: &str, restarts: i32, now: Timestamp) -> (Vec<Line>, Option<Timestamp>) {
        let is_own = |line: &&Line| line.container == container && line.restarts == restarts;
        let mut lines: Vec<Line> = self.log.iter().filter(is_own).cloned().collect();
        let mut next = None;
        let talks = self.talks.get(container).into_iter().flatten().filter(|talk| talk.restarts == restarts);
        for talk in talks {
            for said in &talk.transcript.lines {
                let at = talk.began.saturating_add(said.after).unwrap_or(Timestamp::MAX);
                if talk.stopped.is_some_and(|stopped| at > stopped) {
                    break;
                }
                if at > now {
                    next = Some(at);
                    break;
                }
                lines.push(Line { at, container: container.to_owned(), restarts, text: said.text.clone() });
            }
        }
        lines.sort_by_key(|line| line.at);
        (lines, next)
    }
}

impl Machine {
    /// The machine of the node with this number.
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            address: node_address(number),
            state: Mutex::new(State { pods: BTreeMap::new(), addresses: PodAddresses::of_node(number) }),
            spoke: Notify::new(),
            reach: Mutex::default(),
            is_cut_off: AtomicBool::new(false),
            power_cuts: AtomicU32::new(0),
            meters: Meters::default(),
            waiting: Mutex::default(),
            shortage: Shortage::default(),
            disk: std::sync::Arc::default(),
            static_pods: StaticPods::default(),
        }
    }

    /// Whether nothing goes between it and the API.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Cuts it off, or ends that; whether it was otherwise before.
    pub(crate) fn cut_off(&self, is_cut_off: bool) -> bool {
        self.is_cut_off.swap(is_cut_off, Ordering::Relaxed) != is_cut_off
    }

    /// Its power is cut: all that ran on it has ended.
    pub(crate) fn lose_power(&self, now: Timestamp) {
        self.power_cuts.fetch_add(1, Ordering::Relaxed);
        for running in self.state.lock().pods.values_mut() {
            running.lost.get_or_insert(now);
            running.talks.values_mut().filter_map(VecDeque::back_mut).for_each(|talk| {
                talk.stopped.get_or_insert(now);
            });
        }
        self.spoke.notify_waiters();
    }

    /// How often it has lost its power.
    pub(crate) fn power_cuts(&self) -> u32 {
        self.power_cuts.load(Ordering::Relaxed)
    }

    /// From now on, an agent speaks for it.
    pub(crate) fn reached_by(&self, reach: Reach) {
        *self.reach.lock() = Some(reach);
    }

    /// How the agent that speaks for it reaches the API; none if none has yet.
    pub(crate) fn reach(&self) -> Option<Reach> {
        self.reach.lock().clone()
    }

    /// Whether a change of its Node may make it short of something, or relieve it.
    pub(crate) fn may_be_short(&self, node: &Node) -> bool {
        is_told(node)
            || node.metadata.annotations.contains_key(SHUTDOWN)
            || self.meters.is_system_told()
            || !self.shortage.is_at_rest()
    }

    /// What it knows of this pod, if it runs here.
    pub(crate) fn pod(&self, key: &ObjectKey) -> Option<Running> {
        self.state.lock().pods.get(key).cloned()
    }

    /// Whether no container of this pod is to be made, nor begins again in the pass in which it ends, as a program may.
    pub(crate) fn is_settled(&self, key: &ObjectKey, uid: &str) -> bool {
        let state = self.state.lock();
        let Some(running) = state.pods.get(key).filter(|running| running.uid == uid) else { return false };
        let may_end =
            |place: Place| running.places.iter().any(|(name, at)| *at == place && running.talks.contains_key(name));
        let is_settled = |place: Place| match running.runtime.container(place).map(|own| own.state) {
            Some(ContainerState::Ended) => true,
            Some(ContainerState::Running) => !may_end(place),
            _ => false,
        };
        running.runtime.stage == PodStage::Ended || running.runtime.places().all(is_settled)
    }

    /// The pods that it knows.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.state.lock().pods.keys().cloned().collect()
    }

    /// The pods of which a container runs.
    pub(crate) fn running(&self) -> Vec<ObjectKey> {
        let state = self.state.lock();
        let runs = |running: &Running| {
            let mut places = running.runtime.places();
            running.lost.is_none()
                && places.any(|place| {
                    running.runtime.container(place).is_some_and(|own| own.state == ContainerState::Running)
                })
        };
        state.pods.iter().filter(|(_, running)| runs(running)).map(|(key, _)| key.clone()).collect()
    }

    /// The pod is now at this point, and has said these lines.
    pub(crate) fn set(&self, key: &ObjectKey, uid: &str, runtime: Runtime, said: Vec<Line>) {
        let mut state = self.state.lock();
        let running = state.pods.entry(key.clone()).or_insert_with(|| Running {
            uid: uid.to_owned(),
            runtime: runtime.clone(),
            log: VecDeque::new(),
            dropped: 0,
            talks: BTreeMap::new(),
            share: Share::default(),
            places: BTreeMap::new(),
            lost: None,
        });
        running.runtime = runtime;
        running.lost = None;
        running.log.extend(said);
        while running.log.len() > LINES {
            running.log.pop_front();
            running.dropped += 1;
        }
        drop(state);
        self.spoke.notify_waiters();
    }

    /// The pod was taken, and has this of the machine.
    pub(crate) fn take(&self, key: &ObjectKey, share: Share) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            running.share = share;
        }
    }

    /// What the pods that it runs have of it.
    pub(crate) fn taken(&self) -> Taken {
        let state = self.state.lock();
        let mut taken = Taken::default();
        let running = state.pods.values().filter(|running| running.runtime.stage != PodStage::Ended);
        running.for_each(|running| taken.add(&running.share));
        taken
    }

    /// What the pods that it runs have of it, but for this one.
    pub(crate) fn taken_beside(&self, key: &ObjectKey) -> Taken {
        let state = self.state.lock();
        let mut taken = Taken::default();
        let others =
            state.pods.iter().filter(|(other, running)| *other != key && running.runtime.stage != PodStage::Ended);
        others.for_each(|(_, running)| taken.add(&running.share));
        taken
    }

    /// A pod waits until others have less of it.
    pub(crate) fn wait_for_room(&self, key: &ObjectKey) {
        self.waiting.lock().insert(key.clone());
    }

    /// The pods that waited for room.
    pub(crate) fn take_waiting(&self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.waiting.lock())
    }

    /// A container of this name was started there.
    pub(crate) fn name(&self, key: &ObjectKey, container: &str, place: Place) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            running.places.insert(container.to_owned(), place);
        }
    }

    /// A container of the pod has begun a run; of those before only the last is kept.
    pub(crate) fn talk(&self, key: &ObjectKey, container: &str, talk: Talk) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            let talks = running.talks.entry(container.to_owned()).or_default();
            talks.push_back(talk);
            if talks.len() > 2 {
                talks.pop_front();
            }
        }
    }

    /// The container's run has ended before its program did.
    pub(crate) fn silence(&self, key: &ObjectKey, container: &str, at: Timestamp) {
        if let Some(running) = self.state.lock().pods.get_mut(key)
            && let Some(talk) = running.talks.get_mut(container).and_then(VecDeque::back_mut)
        {
            talk.stopped.get_or_insert(at);
        }
    }

    /// The pod is no more.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        self.state.lock().pods.remove(key);
        self.spoke.notify_waiters();
    }

    /// An address for a pod that has none yet, of the ranges that its Node was given for pods, if it was.
    pub(crate) fn new_address(&self, given: &[String]) -> Option<String> {
        let mut state = self.state.lock();
        let taken: BTreeSet<String> = state.pods.values().filter_map(|running| running.runtime.ip.clone()).collect();
        state.addresses.next(&taken, given)
    }
}
