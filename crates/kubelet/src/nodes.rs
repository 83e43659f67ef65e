use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Node;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::NodeSpec;
use crate::agent::Agent;
use crate::machine::Machine;
use crate::orders::Order;
use crate::saved_nodes::{SavedNode, SavedNodes};
use crate::stages::Programme;

/// The table of the nodes that a process simulates: each has a machine, and an agent while its kubelet runs.
#[derive(Default)]
pub(crate) struct Nodes {
    table: Mutex<Table>,
    /// By what pods and nodes live, if not by kubelets alone: told when a node falls silent or comes back.
    stages: Option<Arc<Programme>>,
    recorder: Recorder,
    /// Rings when a node is to be started, or can be reached again.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct Table {
    by_name: BTreeMap<Arc<str>, SimulatedNode>,
    /// How many there have ever been.
    made: u32,
    /// Where nodes that are not there yet go on.
    saved: BTreeMap<String, SavedNode>,
}

struct SimulatedNode {
    spec: Arc<NodeSpec>,
    machine: Arc<Machine>,
    has_power: bool,
    is_stopped: bool,
    /// Whether it is one for its Node's sake: somebody made that and said that it is simulated.
    is_adopted: bool,
    /// What annotations of its Node said last.
    obeyed: BTreeMap<Order, String>,
    agent: Option<Arc<Agent>>,
    /// Whether it can be reached again, and nobody has looked after it since.
    is_back: bool,
}

impl SimulatedNode {
    /// A node that goes on where one was saved, or else on a new machine.
    fn new(spec: NodeSpec, is_adopted: bool, saved: Option<SavedNode>, machine: impl FnOnce() -> Machine) -> Self {
        let (spec, agent) = (Arc::new(spec), None);
        let (has_power, is_stopped, obeyed, machine) = match saved {
            Some(saved) => (saved.has_power, saved.is_stopped, saved.obeyed, Machine::of(saved.machine)),
            None => (true, false, BTreeMap::new(), machine()),
        };
        let machine = Arc::new(machine);
        Self { spec, machine, has_power, is_stopped, is_adopted, obeyed, agent, is_back: false }
    }

    /// Tells the event log that the node starts, or why it stops.
    fn record(&self, recorder: &Recorder, starts: bool, why: &str) {
        match starts {
            true => self.tell(recorder, Stage::ComponentStart, |detail| detail),
            false => self.tell(recorder, Stage::ComponentStop, |detail| detail.with("why", why)),
        }
    }

    fn tell(&self, recorder: &Recorder, stage: Stage, more: impl FnOnce(Detail) -> Detail) {
        let name = &self.spec.name;
        recorder.record(&format!("kubelet/{name}"), stage, || more(Detail::about(format!("nodes/{name}"))));
    }

    fn runs(&self) -> bool {
        self.has_power && !self.is_stopped
    }

    fn set(&mut self, order: Order, is_usual: bool, now: Timestamp, recorder: &Recorder) {
        match order {
            Order::Power => {
                if self.has_power != is_usual {
                    self.record(recorder, is_usual, "killed");
                }
                if self.has_power && !is_usual {
                    self.machine.lose_power(now);
                }
                self.has_power = is_usual;
            }
            Order::Kubelet => {
                if self.is_stopped == is_usual {
                    self.record(recorder, is_usual, "asked");
                }
                self.is_stopped = !is_usual;
            }
            Order::Partition => {
                let changes = self.machine.cut_off(!is_usual);
                if changes {
                    let stage = if is_usual { Stage::FaultOff } else { Stage::FaultOn };
                    self.tell(recorder, stage, |detail| detail.with("fault", "partition"));
                }
                if let Some(agent) = self.agent.as_ref().filter(|_| changes) {
                    if is_usual {
                        agent.view.thaw()
                    } else {
                        agent.view.freeze()
                    }
                    self.is_back = is_usual;
                }
            }
        }
        if let Some(agent) = (!self.runs()).then(|| self.agent.take()).flatten() {
            agent.end();
        }
    }
}

impl Nodes {
    /// No nodes yet.
    pub(crate) fn new(stages: Option<Arc<Programme>>, recorder: Recorder) -> Self {
        Self { stages, recorder, ..Self::default() }
    }

    /// Whether anything happens on a node: not on one that has no power, is stopped or is cut off. What is none of these
    /// nodes is none of its business.
    pub(crate) fn acts(&self, name: &str) -> bool {
        let table = self.table.lock();
        table.by_name.get(name).is_none_or(|node| node.runs() && !node.machine.is_cut_off())
    }

    fn wake_stages(&self) {
        if let Some(stages) = &self.stages {
            stages.wake();
        }
    }

    /// One more node; one of the same name is left as it is.
    pub(crate) fn add(&self, spec: NodeSpec) {
        self.insert(spec, false);
    }

    /// The pods of which a container runs on the machine of this node.
    pub(crate) fn running_on(&self, name: &str) -> Vec<ObjectKey> {
        let machine = self.table.lock().by_name.get(name).map(|node| Arc::clone(&node.machine));
        machine.map(|machine| machine.running()).unwrap_or_default()
    }

    /// One more node, for the sake of a Node that somebody made.
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

    /// The Node is gone: one that was there for its sake goes with it.
    pub(crate) fn lose(&self, name: &str) {
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

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.table.lock().by_name.len()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.table.lock().by_name.contains_key(name)
    }

    /// Does as somebody says; false if there is no node of this name.
    pub(crate) fn set(&self, name: &str, orders: &[Order], is_usual: bool, now: Timestamp) -> bool {
        let mut table = self.table.lock();
        let Some(node) = table.by_name.get_mut(name) else { return false };
        orders.iter().for_each(|order| node.set(*order, is_usual, now, &self.recorder));
        drop(table);
        self.changed.notify_waiters();
        self.wake_stages();
        true
    }

    /// Does what annotations say now and did not say before; gives what is wrong with them.
    pub(crate) fn obey(&self, name: &str, object: &Node, now: Timestamp) -> Vec<String> {
        let mut table = self.table.lock();
        let Some(node) = table.by_name.get_mut(name) else { return Vec::new() };
        let mut problems = Vec::new();
        let mut has_changed = false;
        for order in Order::ALL {
            let said = order.said(object);
            if said == node.obeyed.get(&order).map(String::as_str) {
                continue;
            }
            match order.is_usual(said) {
                Ok(is_usual) => {
                    node.set(order, is_usual, now, &self.recorder);
                    has_changed = true;
                }
                Err(problem) => problems.push(problem),
            }
            match said {
                Some(said) => node.obeyed.insert(order, said.to_owned()),
                None => node.obeyed.remove(&order),
            };
        }
        drop(table);
        if has_changed {
            self.changed.notify_waiters();
            self.wake_stages();
        }
        problems
    }

    /// The machine of a node whose kubelet runs and can be reached.
    pub(crate) fn machine(&self, name: &str) -> Option<Arc<Machine>> {
        let table = self.table.lock();
        let machine = table.by_name.get(name).filter(|node| node.runs()).map(|node| node.machine.clone());
        machine.filter(|machine| !machine.is_cut_off())
    }

    /// What speaks for a node at the moment.
    pub(crate) fn agent(&self, name: &str) -> Option<Arc<Agent>> {
        self.table.lock().by_name.get(name)?.agent.clone()
    }

    /// The nodes for which `is_own` whose kubelets are to run and for which nobody speaks.
    pub(crate) fn silent(&self, is_own: impl Fn(&NodeSpec) -> bool) -> Vec<(Arc<NodeSpec>, Arc<Machine>)> {
        let table = self.table.lock();
        let silent = table.by_name.values().filter(|node| node.runs() && node.agent.is_none() && is_own(&node.spec));
        silent.map(|node| (node.spec.clone(), node.machine.clone())).collect()
    }

    /// The agents of the nodes for which `is_own` that can be reached again since this was last asked.
    pub(crate) fn take_back(&self, is_own: impl Fn(&NodeSpec) -> bool) -> Vec<Arc<Agent>> {
        let mut table = self.table.lock();
        let back = table.by_name.values_mut().filter(|node| node.is_back && is_own(&node.spec));
        back.filter_map(|node| {
            node.is_back = false;
            node.agent.clone()
        })
        .collect()
    }

    /// What the nodes hold at the moment.
    pub(crate) fn save(&self) -> SavedNodes {
        let table = self.table.lock();
        let saved = |node: &SimulatedNode| SavedNode {
            has_power: node.has_power,
            is_stopped: node.is_stopped,
            obeyed: node.obeyed.clone(),
            machine: node.machine.save(),
        };
        let nodes = table.by_name.iter().map(|(name, node)| (name.to_string(), saved(node)));
        SavedNodes { nodes: table.saved.clone().into_iter().chain(nodes).collect() }
    }

    /// From now on the nodes go on where these were; those that are not there yet do so when they are.
    pub(crate) fn restore(&self, saved: SavedNodes) {
        let mut table = self.table.lock();
        let numbers: BTreeSet<u32> = saved.nodes.values().map(|node| node.machine.number).collect();
        let Table { by_name, made, saved: kept } = &mut *table;
        *made = numbers.last().map_or(0, |last| last + 1).max(*made);
        *kept = saved.nodes;
        for (name, node) in by_name {
            let saved = kept.remove(&**name);
            // A machine's addresses follow from its number, so that no two may have the same.
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

    /// The names of the nodes that read through informers of their own.
    pub(crate) fn apart(&self) -> Vec<Arc<str>> {
        let table = self.table.lock();
        table.by_name.iter().filter(|(_, node)| node.spec.own_informers).map(|(name, _)| name.clone()).collect()
    }

    /// Whether a node reads through informers of its own.
    pub(crate) fn is_apart(&self, name: &str) -> bool {
        self.table.lock().by_name.get(name).is_some_and(|node| node.spec.own_informers)
    }

    /// From now on, this agent speaks for its node, if that still is to run.
    pub(crate) fn speaks(&self, agent: Arc<Agent>) {
        let mut table = self.table.lock();
        match table.by_name.get_mut(&agent.name).filter(|node| node.runs()) {
            Some(node) => node.agent = Some(agent),
            None => agent.end(),
        }
    }

    /// Nobody speaks for any node any more.
    pub(crate) fn end_agents(&self) {
        let mut table = self.table.lock();
        table.by_name.values_mut().filter_map(|node| node.agent.take()).for_each(|agent| agent.end());
    }
}
