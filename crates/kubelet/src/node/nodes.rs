use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Node;
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_kubelet_api::StagedKinds;
use coracle_meta::{ApiObject, ObjectKey, parse_resource_version};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::NodeSpec;
use crate::node::agent::Agent;
use crate::node::machine::Machine;
use crate::node::node_switches::{NodeSwitch, SwitchedNode};
use crate::node::saved_nodes::{SavedNode, SavedNodes};

/// Carries out what an annotation says; false if it does not.
pub(crate) type SwitchHandler = dyn Fn(&SwitchedNode) -> bool + Send + Sync;

/// The nodes that a process simulates: each has a machine, and an agent while its kubelet runs.
#[derive(Default)]
pub(crate) struct Nodes {
    table: Mutex<Table>,
    /// The Stages of pods and nodes, if there are any. They are woken when a node stops or comes back.
    stages: Option<Arc<dyn StagedKinds>>,
    recorder: Recorder,
    /// Carries out what annotations say, if it is present.
    switch_handler: Mutex<Option<Arc<SwitchHandler>>>,
    /// Notified when a node was added, has to be started, or can be reached again.
    pub(crate) changed: Arc<Notify>,
}

#[derive(Default)]
struct Table {
    by_name: BTreeMap<Arc<str>, SimulatedNode>,
    /// How many machines were created so far.
    made: u32,
    /// Saved state of nodes that were not added yet.
    saved: BTreeMap<String, SavedNode>,
}

struct SimulatedNode {
    spec: Arc<NodeSpec>,
    machine: Arc<Machine>,
    has_power: bool,
    is_stopped: bool,
    /// Whether the node exists because a user created a Node with the annotation of a simulated one.
    is_adopted: bool,
    /// The switches that the annotations of its Node set last.
    switches: BTreeMap<NodeSwitch, String>,
    agent: Option<Arc<Agent>>,
    /// Whether its partition has healed and its agent was not enqueued since.
    is_back: bool,
}

/// Where a switch is recorded, and the entry that caused it.
struct SwitchLog<'r> {
    recorder: &'r Recorder,
    cause: Option<EntryId>,
}

impl SimulatedNode {
    /// A node with its saved state, or with a new machine.
    fn new(spec: NodeSpec, is_adopted: bool, saved: Option<SavedNode>, machine: impl FnOnce() -> Machine) -> Self {
        let (spec, agent) = (Arc::new(spec), None);
        let (has_power, is_stopped, switches, machine) = match saved {
            Some(saved) => (saved.has_power, saved.is_stopped, saved.obeyed, Machine::of(saved.machine)),
            None => (true, false, BTreeMap::new(), machine()),
        };
        let machine = Arc::new(machine);
        Self { spec, machine, has_power, is_stopped, is_adopted, switches, agent, is_back: false }
    }

    /// Records that the node starts, or why it stops.
    fn record(&self, recorder: &Recorder, starts: bool, why: &str, cause: Option<EntryId>) {
        if starts {
            self.record_stage(recorder, Stage::ComponentStart, |detail| detail.caused_by(cause))
        } else {
            self.record_stage(recorder, Stage::ComponentStop, |detail| detail.caused_by(cause).with("why", why))
        }
    }

    fn record_stage(&self, recorder: &Recorder, stage: Stage, more: impl FnOnce(Detail) -> Detail) {
        let name = &self.spec.name;
        recorder.record(&format!("kubelet/{name}"), stage, || more(Detail::about(format!("nodes/{name}"))));
    }

    fn runs(&self) -> bool {
        self.has_power && !self.is_stopped
    }

    /// Sets a switch because of `cause`; returns whether that is a change.
    fn set(&mut self, switch: NodeSwitch, is_usual: bool, now: Timestamp, log: &SwitchLog<'_>) -> bool {
        let SwitchLog { recorder, cause } = *log;
        let changes = match switch {
            NodeSwitch::Power => {
                let changes = self.has_power != is_usual;
                if changes {
                    self.record(recorder, is_usual, "killed", cause);
                }
                if self.has_power && !is_usual {
                    self.machine.lose_power(now);
                }
                self.has_power = is_usual;
                changes
            }
            NodeSwitch::Kubelet => {
                let changes = self.is_stopped == is_usual;
                if changes {
                    self.record(recorder, is_usual, "asked", cause);
                }
                self.is_stopped = !is_usual;
                changes
            }
            NodeSwitch::Partition => {
                let changes = self.machine.cut_off(!is_usual);
                // The cause is the entry of a fault.
                if changes && cause.is_none() {
                    let stage = if is_usual { Stage::FaultOff } else { Stage::FaultOn };
                    self.record_stage(recorder, stage, |detail| detail.with("fault", "partition"));
                }
                if let Some(agent) = self.agent.as_ref().filter(|_| changes) {
                    if is_usual {
                        agent.pod_view.thaw()
                    } else {
                        agent.pod_view.freeze()
                    }
                    self.is_back = is_usual;
                }
                changes
            }
        };
        if let Some(agent) = (!self.runs()).then(|| self.agent.take()).flatten() {
            agent.end();
        }
        changes
    }
}

impl Nodes {
    /// An empty table.
    pub(crate) fn new(stages: Option<Arc<dyn StagedKinds>>, recorder: Recorder) -> Self {
        Self { stages, recorder, ..Self::default() }
    }

    /// Whether a node acts: false if it has no power, is stopped or partitioned. True for a name that is not in the
    /// table.
    pub(crate) fn acts(&self, name: &str) -> bool {
        let table = self.table.lock();
        table.by_name.get(name).is_none_or(|node| node.runs() && !node.machine.is_cut_off())
    }

    fn wake_stages(&self) {
        if let Some(stages) = &self.stages {
            stages.wake();
        }
    }

    /// Adds a node. Does nothing if a node of this name exists.
    pub(crate) fn add(&self, spec: NodeSpec) {
        self.insert(spec, false);
    }

    /// The pods with a running container on the machine of this node.
    pub(crate) fn running_on(&self, name: &str) -> Vec<ObjectKey> {
        let machine = self.table.lock().by_name.get(name).map(|node| Arc::clone(&node.machine));
        machine.map(|machine| machine.running()).unwrap_or_default()
    }

    /// Adds a node for a Node that a user created.
    pub(crate) fn adopt(&self, spec: NodeSpec) {
        self.insert(spec, true);
    }

    fn insert(&self, spec: NodeSpec, is_adopted: bool) {
        let mut table = self.table.lock();
        if table.by_name.contains_key(spec.name.as_str()) {
            return;
        }
        let saved = table.saved.remove(&spec.name);
        let machine = || {
            let machine = Machine::new(table.made);
            table.made += 1;
            machine
        };
        let node = SimulatedNode::new(spec, is_adopted, saved, machine);
        table.by_name.insert(node.spec.name.as_str().into(), node);
        drop(table);
        self.changed.notify_waiters();
    }

    /// Removes a node whose Node is gone, if it existed only for that Node.
    pub(crate) fn remove_adopted(&self, name: &str) {
        let mut table = self.table.lock();
        if table.by_name.get(name).is_some_and(|node| node.is_adopted)
            && let Some(SimulatedNode { agent: Some(agent), .. }) = table.by_name.remove(name)
        {
            agent.end();
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.table.lock().by_name.keys().map(ToString::to_string).collect()
    }

    /// How many nodes there are.
    pub(crate) fn count(&self) -> usize {
        self.table.lock().by_name.len()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.table.lock().by_name.contains_key(name)
    }

    /// Lets `handler` carry out what annotations say, in place of the handler before.
    pub(crate) fn switched_by(&self, handler: Arc<SwitchHandler>) {
        *self.switch_handler.lock() = Some(handler);
    }

    /// Sets switches; false if there is no node of this name.
    pub(crate) fn set(&self, name: &str, switches: &[NodeSwitch], is_usual: bool, now: Timestamp) -> bool {
        self.change(name, |node| {
            for switch in switches {
                node.set(*switch, is_usual, now, &self.log(None));
            }
        })
        .is_some()
    }

    /// Sets a switch because of `cause`; returns whether that is a change, and false if there is no node of this name.
    pub(crate) fn switch(
        &self,
        name: &str,
        switch: NodeSwitch,
        is_usual: bool,
        now: Timestamp,
        cause: Option<EntryId>,
    ) -> bool {
        self.change(name, |node| node.set(switch, is_usual, now, &self.log(cause))) == Some(true)
    }

    fn log(&self, cause: Option<EntryId>) -> SwitchLog<'_> {
        SwitchLog { recorder: &self.recorder, cause }
    }

    /// Changes a node; `None` if there is no node of this name.
    fn change<R>(&self, name: &str, change: impl FnOnce(&mut SimulatedNode) -> R) -> Option<R> {
        let changed = self.table.lock().by_name.get_mut(name).map(change)?;
        self.changed.notify_waiters();
        self.wake_stages();
        Some(changed)
    }

    /// Applies the switches in annotations that have changed; returns what is wrong with them.
    pub(crate) fn apply_annotations(&self, name: &str, object: &Node, now: Timestamp) -> Vec<String> {
        let (switched, problems) = self.read_annotations(name, object);
        for one in switched {
            // The handler switches nodes, so the table must not be locked.
            let handler = self.switch_handler.lock().clone();
            if !handler.is_some_and(|handler| handler(&one)) {
                self.switch(name, one.switch, one.is_usual, now, None);
            }
        }
        problems
    }

    /// The switches in annotations that have changed since the last call, and what is wrong with them.
    fn read_annotations(&self, name: &str, object: &Node) -> (Vec<SwitchedNode>, Vec<String>) {
        let (mut switched, mut problems) = (Vec::new(), Vec::new());
        let mut table = self.table.lock();
        let Some(node) = table.by_name.get_mut(name) else { return (switched, problems) };
        let revision = parse_resource_version(ApiObject::resource_version(object));
        for switch in NodeSwitch::ALL {
            let said = switch.said(object);
            if said == node.switches.get(&switch).map(String::as_str) {
                continue;
            }
            match switch.is_usual(said) {
                Ok(is_usual) => switched.push(SwitchedNode { name: name.to_owned(), switch, is_usual, revision }),
                Err(problem) => problems.push(problem),
            }
            match said {
                Some(said) => node.switches.insert(switch, said.to_owned()),
                None => node.switches.remove(&switch),
            };
        }
        (switched, problems)
    }

    /// The machine of a node whose kubelet runs and can be reached.
    pub(crate) fn machine(&self, name: &str) -> Option<Arc<Machine>> {
        let table = self.table.lock();
        let machine = table.by_name.get(name).filter(|node| node.runs()).map(|node| node.machine.clone());
        machine.filter(|machine| !machine.is_cut_off())
    }

    /// The agent of a node, if it has one.
    pub(crate) fn agent(&self, name: &str) -> Option<Arc<Agent>> {
        self.table.lock().by_name.get(name)?.agent.clone()
    }

    /// The nodes for which `is_own` whose kubelets have to run and that have no agent.
    pub(crate) fn without_agent(&self, is_own: impl Fn(&NodeSpec) -> bool) -> Vec<(Arc<NodeSpec>, Arc<Machine>)> {
        let table = self.table.lock();
        let silent = table.by_name.values().filter(|node| node.runs() && node.agent.is_none() && is_own(&node.spec));
        silent.map(|node| (node.spec.clone(), node.machine.clone())).collect()
    }

    /// The agents of the nodes for which `is_own` that have become reachable since the last call.
    pub(crate) fn take_reconnected(&self, is_own: impl Fn(&NodeSpec) -> bool) -> Vec<Arc<Agent>> {
        let mut table = self.table.lock();
        let back = table.by_name.values_mut().filter(|node| node.is_back && is_own(&node.spec));
        back.filter_map(|node| {
            node.is_back = false;
            node.agent.clone()
        })
        .collect()
    }

    /// The state of the nodes now.
    pub(crate) fn save(&self) -> SavedNodes {
        let table = self.table.lock();
        let saved = |node: &SimulatedNode| SavedNode {
            has_power: node.has_power,
            is_stopped: node.is_stopped,
            obeyed: node.switches.clone(),
            machine: node.machine.save(),
        };
        let nodes = table.by_name.iter().map(|(name, node)| (name.to_string(), saved(node)));
        SavedNodes { nodes: table.saved.clone().into_iter().chain(nodes).collect() }
    }

    /// Sets the state of nodes. Nodes that do not exist yet get theirs when they are added.
    pub(crate) fn restore(&self, saved: SavedNodes) {
        let mut table = self.table.lock();
        let numbers: BTreeSet<u32> = saved.nodes.values().map(|node| node.machine.number).collect();
        let Table { by_name, made, saved: kept } = &mut *table;
        *made = numbers.last().map_or(0, |last| last + 1).max(*made);
        *kept = saved.nodes;
        for (name, node) in by_name {
            let saved = kept.remove(&**name);
            // A machine's addresses are derived from its number, so no two machines may share one.
            if saved.is_none() && !numbers.contains(&node.machine.number) {
                continue;
            }
            if let Some(agent) = node.agent.take() {
                agent.end();
            }
            let machine = || {
                *made += 1;
                Machine::new(*made - 1)
            };
            *node = SimulatedNode::new(NodeSpec::clone(&node.spec), node.is_adopted, saved, machine);
        }
        drop(table);
        self.changed.notify_waiters();
        self.wake_stages();
    }

    /// The names of the nodes that have informers of their own.
    pub(crate) fn with_own_informers(&self) -> Vec<Arc<str>> {
        let table = self.table.lock();
        table.by_name.iter().filter(|(_, node)| node.spec.own_informers).map(|(name, _)| name.clone()).collect()
    }

    /// Whether a node has informers of its own.
    pub(crate) fn has_own_informers(&self, name: &str) -> bool {
        self.table.lock().by_name.get(name).is_some_and(|node| node.spec.own_informers)
    }

    /// Sets the agent of a node, if the node still has to run.
    pub(crate) fn set_agent(&self, agent: Arc<Agent>) {
        let mut table = self.table.lock();
        match table.by_name.get_mut(&agent.name).filter(|node| node.runs()) {
            Some(node) => node.agent = Some(agent),
            None => agent.end(),
        }
    }

    /// Ends the agents of all nodes.
    pub(crate) fn end_agents(&self) {
        let mut table = self.table.lock();
        table.by_name.values_mut().filter_map(|node| node.agent.take()).for_each(|agent| agent.end());
    }
}
