use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Node;
use coracle_container_programs::Transcript;
use coracle_kubelet_api::save_format;
use coracle_meta::ObjectKey;
use coracle_node_usage::{Meters, has_usage_annotations};
use coracle_volume_manager::Disk;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::images::NodeImages;
use crate::node::addresses::{PodAddresses, node_address};
use crate::node::credentials::Credentials;
use crate::node::exec_context::ExecContext;
use crate::node::pressure::Shortage;
use crate::node::shutdown::SHUTDOWN;
use crate::pod::container::ContainerPhase as ContainerState;
use crate::pod::container_place::ContainerPlace;
use crate::pod::lifecycle::{PodStage, Runtime};
use crate::pod::refusal::{Share, Taken};
use crate::static_pods::StaticPods;

mod saved;

pub(crate) use saved::SavedMachine;

/// How many log lines of a pod the machine keeps.
const LINES: usize = 1000;

/// A simulated machine and the pods that run on it. It survives a restart of its agent.
pub(crate) struct Machine {
    /// Its number among the machines of the process, which determines its addresses.
    pub(crate) number: u32,
    /// Its address.
    pub(crate) address: String,
    state: Mutex<State>,
    /// Notified when one of its pods has written output or ended.
    pub(crate) spoke: Notify,
    /// The API access of its agent, for commands in containers.
    exec_context: Mutex<Option<ExecContext>>,
    is_cut_off: AtomicBool,
    /// How often it has lost power.
    power_cuts: AtomicU32,
    /// The usage of its pods.
    pub(crate) meters: Meters,
    /// The pods whose resize waits for free resources.
    waiting: Mutex<BTreeSet<ObjectKey>>,
    /// What it is short of, and which pods it terminates.
    pub(crate) shortage: Shortage,
    /// The volumes that are mounted on it.
    pub(crate) disk: std::sync::Arc<Disk>,
    /// Its static pods.
    pub(crate) static_pods: StaticPods,
    /// The files of pod certificates on it.
    pub(crate) credentials: Credentials,
    /// The images on it.
    pub(crate) images: Mutex<NodeImages>,
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
    /// The uid, since another pod may get the same name.
    pub(crate) uid: String,
    /// The state of the pod.
    pub(crate) runtime: Runtime,
    /// The output of its containers, the oldest line first.
    pub(crate) log: VecDeque<Line>,
    /// How many older lines were dropped.
    pub(crate) dropped: usize,
    /// The output of its known programs, by the names of the containers.
    pub(crate) talks: BTreeMap<String, VecDeque<Talk>>,
    /// The resources that it takes.
    pub(crate) share: Share,
    /// The containers that have been started, by their names.
    pub(crate) places: BTreeMap<String, ContainerPlace>,
    /// When the machine lost power, if the pod has not restarted since.
    #[serde(with = "save_format::maybe_time")]
    pub(crate) lost: Option<Timestamp>,
}

/// One run of a container whose program is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Talk {
    pub(crate) restarts: i32,
    #[serde(with = "save_format::time")]
    pub(crate) began: Timestamp,
    /// When it was stopped, if it has not ended by itself.
    #[serde(with = "save_format::maybe_time")]
    pub(crate) stopped: Option<Timestamp>,
    pub(crate) transcript: std::sync::Arc<Transcript>,
}

/// A line of a container's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Line {
    /// When it was written.
    #[serde(with = "save_format::time")]
    pub(crate) at: Timestamp,
    /// The container that wrote it.
    pub(crate) container: String,
    /// The container's restart count at that time.
    pub(crate) restarts: i32,
    /// The text.
    pub(crate) text: String,
}

impl Running {
    /// The restart count of a container and whether it runs; none if it has never started.
    pub(crate) fn run_of(&self, container: &str) -> Option<(i32, bool)> {
        let own = self.runtime.container(*self.places.get(container)?)?;
        Some((own.restarts, own.state == ContainerState::Running))
    }

    /// The output of one run of a container up to a moment, and when it writes more.
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
            exec_context: Mutex::default(),
            is_cut_off: AtomicBool::new(false),
            power_cuts: AtomicU32::new(0),
            meters: Meters::default(),
            waiting: Mutex::default(),
            shortage: Shortage::default(),
            disk: std::sync::Arc::default(),
            static_pods: StaticPods::default(),
            credentials: Credentials::default(),
            images: Mutex::default(),
        }
    }

    /// Whether it is partitioned from the API.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Partitions it or heals the partition; returns whether that is a change.
    pub(crate) fn cut_off(&self, is_cut_off: bool) -> bool {
        self.is_cut_off.swap(is_cut_off, Ordering::Relaxed) != is_cut_off
    }

    /// Cuts the power: all that ran on it has ended.
    pub(crate) fn lose_power(&self, now: Timestamp) {
        self.power_cuts.fetch_add(1, Ordering::Relaxed);
        self.images.lock().interrupt(now);
        self.credentials.clear();
        for running in self.state.lock().pods.values_mut() {
            running.lost.get_or_insert(now);
            running.talks.values_mut().filter_map(VecDeque::back_mut).for_each(|talk| {
                talk.stopped.get_or_insert(now);
            });
        }
        self.spoke.notify_waiters();
    }

    /// How often it has lost power.
    pub(crate) fn power_cuts(&self) -> u32 {
        self.power_cuts.load(Ordering::Relaxed)
    }

    /// Sets the API access of its agent.
    pub(crate) fn set_exec_context(&self, exec_context: ExecContext) {
        *self.exec_context.lock() = Some(exec_context);
    }

    /// The API access of its agent; none before the first agent was started.
    pub(crate) fn exec_context(&self) -> Option<ExecContext> {
        self.exec_context.lock().clone()
    }

    /// Whether a change of its Node may begin or end a shortage.
    pub(crate) fn may_be_short(&self, node: &Node) -> bool {
        has_usage_annotations(node)
            || node.metadata.annotations.contains_key(SHUTDOWN)
            || self.meters.is_system_usage_set()
            || !self.shortage.is_at_rest()
    }

    /// What it knows about a pod that runs here.
    pub(crate) fn pod(&self, key: &ObjectKey) -> Option<Running> {
        self.state.lock().pods.get(key).cloned()
    }

    /// Whether no container of this pod will be created or restarted in this pass.
    pub(crate) fn is_settled(&self, key: &ObjectKey, uid: &str) -> bool {
        let state = self.state.lock();
        let Some(running) = state.pods.get(key).filter(|running| running.uid == uid) else { return false };
        let may_end = |place: ContainerPlace| {
            running.places.iter().any(|(name, at)| *at == place && running.talks.contains_key(name))
        };
        let is_settled = |place: ContainerPlace| match running.runtime.container(place).map(|own| own.state) {
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

    /// The pods with a running container.
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

    /// Sets the state of a pod, and appends output.
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

    /// Records the resources of an admitted pod.
    pub(crate) fn take(&self, key: &ObjectKey, share: Share) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            running.share = share;
        }
    }

    /// The resources that its pods take.
    pub(crate) fn taken(&self) -> Taken {
        let state = self.state.lock();
        let mut taken = Taken::default();
        let running = state.pods.values().filter(|running| running.runtime.stage != PodStage::Ended);
        running.for_each(|running| taken.add(&running.share));
        taken
    }

    /// The resources that all other pods take.
    pub(crate) fn taken_beside(&self, key: &ObjectKey) -> Taken {
        let state = self.state.lock();
        let mut taken = Taken::default();
        let others =
            state.pods.iter().filter(|(other, running)| *other != key && running.runtime.stage != PodStage::Ended);
        others.for_each(|(_, running)| taken.add(&running.share));
        taken
    }

    /// Marks a pod that waits until others release resources.
    pub(crate) fn wait_for_room(&self, key: &ObjectKey) {
        self.waiting.lock().insert(key.clone());
    }

    /// Takes the pods that wait for resources.
    pub(crate) fn take_waiting(&self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.waiting.lock())
    }

    /// Records a container that was started under this name.
    pub(crate) fn name(&self, key: &ObjectKey, container: &str, place: ContainerPlace) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            running.places.insert(container.to_owned(), place);
        }
    }

    /// Records the run that a container begins; of the earlier runs only the last is kept.
    pub(crate) fn talk(&self, key: &ObjectKey, container: &str, talk: Talk) {
        if let Some(running) = self.state.lock().pods.get_mut(key) {
            let talks = running.talks.entry(container.to_owned()).or_default();
            talks.push_back(talk);
            if talks.len() > 2 {
                talks.pop_front();
            }
        }
    }

    /// Records that a run was stopped before its program ended.
    pub(crate) fn silence(&self, key: &ObjectKey, container: &str, at: Timestamp) {
        if let Some(running) = self.state.lock().pods.get_mut(key)
            && let Some(talk) = running.talks.get_mut(container).and_then(VecDeque::back_mut)
        {
            talk.stopped.get_or_insert(at);
        }
    }

    /// Forgets a pod.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        self.state.lock().pods.remove(key);
        self.spoke.notify_waiters();
    }

    /// A new address for a pod, from the ranges of its Node if it has any.
    pub(crate) fn new_address(&self, given: &[String]) -> Option<String> {
        let mut state = self.state.lock();
        let taken: BTreeSet<String> = state.pods.values().filter_map(|running| running.runtime.ip.clone()).collect();
        state.addresses.next(&taken, given)
    }
}
