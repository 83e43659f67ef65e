use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::{Ambient, Gate, SignedDuration, Skew, gated};
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::{EntryId, Recorder};
use coracle_meta::ObjectKey;
use futures_util::future::select;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::fleet::Fleet;
use crate::node::node_switches::{NodeSwitch, SwitchedNode};
use crate::node::nodes::Nodes;
use crate::server::node_server::NodeApi;
use crate::{Config, NodeSpec, SavedNodes};

/// The simulated nodes of one process; clones are handles of the same nodes.
///
/// Each node has a machine, which keeps its pods, and an agent, which acts for it while [`Kubelet::run`] runs. A node
/// that is stopped sends nothing any more, as if its process were killed; its pods are still there when it is started
/// again.
#[derive(Clone)]
pub struct Kubelet {
    inner: Arc<Inner>,
}

struct Inner {
    config: Arc<Config>,
    reader: Box<dyn Fn() -> Client + Send + Sync>,
    client_of: Arc<dyn Fn(&str) -> Client + Send + Sync>,
    ambient: Ambient,
    recorder: Recorder,
    nodes: Arc<Nodes>,
    /// The gates of the nodes with informers of their own, while they run.
    gates: Mutex<BTreeMap<Arc<str>, Gate>>,
    /// The skews of the clocks of nodes with informers of their own, which stay when their kubelets restart.
    skews: Mutex<BTreeMap<String, Skew>>,
}

impl std::fmt::Debug for Kubelet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubelet").field("nodes", &self.nodes()).finish_non_exhaustive()
    }
}

impl Kubelet {
    /// Nodes that share one API client.
    pub fn new(config: Config, client: Client, ambient: Ambient, recorder: Recorder) -> Self {
        let reader = client.clone();
        Self::with_clients(config, move || reader.clone(), move |_| client.clone(), ambient, recorder)
    }

    /// Nodes that each write through a client of their own, so that the API server can tell them apart: `client_of`
    /// creates the client of a node. They share the informers of `reader`, which needs permission to list all pods and
    /// Nodes. A node with [own informers](NodeSpec::own_informers) reads through its own client.
    pub fn with_clients(
        config: Config,
        reader: impl Fn() -> Client + Send + Sync + 'static,
        client_of: impl Fn(&str) -> Client + Send + Sync + 'static,
        ambient: Ambient,
        recorder: Recorder,
    ) -> Self {
        let nodes = Arc::new(Nodes::new(config.stages.clone(), recorder.clone()));
        let specs = config.nodes.clone();
        let (reader, client_of, config) = (Box::new(reader), Arc::new(client_of), Arc::new(config));
        let (gates, skews) = (Mutex::default(), Mutex::default());
        let inner = Inner { config, reader, client_of, ambient, recorder, nodes, gates, skews };
        let kubelet = Self { inner: Arc::new(inner) };
        specs.into_iter().for_each(|spec| kubelet.add_node(spec));
        kubelet
    }

    /// Adds a node. Does nothing if a node of this name exists.
    pub fn add_node(&self, mut spec: NodeSpec) {
        spec.own_informers |= self.inner.config.own_informers.contains(&spec.name);
        if spec.own_informers {
            self.inner.skews.lock().entry(spec.name.clone()).or_default();
        }
        self.inner.nodes.add(spec);
    }

    /// The names of all nodes, running or not.
    pub fn nodes(&self) -> Vec<String> {
        self.inner.nodes.names()
    }

    /// Notified when a node was added, or changes its state.
    pub fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.inner.nodes.changed)
    }

    /// Whether a node of this name exists, running or not.
    pub fn has_node(&self, name: &str) -> bool {
        self.inner.nodes.contains(name)
    }

    /// Stops the kubelet of a node; its containers keep running. False if there is no node of this name.
    pub fn stop_node(&self, name: &str) -> bool {
        self.set(name, &[NodeSwitch::Kubelet], false)
    }

    /// Starts a node that is stopped or has no power. False if there is no node of this name.
    pub fn start_node(&self, name: &str) -> bool {
        self.set(name, &[NodeSwitch::Power, NodeSwitch::Kubelet], true)
    }

    /// Cuts the power of a node: its containers are lost, and start again when the node is started. False if there is
    /// no node of this name.
    pub fn kill_node(&self, name: &str) -> bool {
        self.set(name, &[NodeSwitch::Power], false)
    }

    /// Partitions a node from the API, or heals the partition. A partitioned node continues with what it saw last.
    /// False if there is no node of this name.
    pub fn partition_node(&self, name: &str, is_cut_off: bool) -> bool {
        self.set(name, &[NodeSwitch::Partition], !is_cut_off)
    }

    /// Stops a node that has informers of its own, as by SIGSTOP: it sends nothing, receives nothing, and no timer of it
    /// fires until it is [resumed](Self::resume_node). False if it has none, or if it was paused before.
    pub fn pause_node(&self, name: &str) -> bool {
        self.inner.gates.lock().get(name).is_some_and(Gate::close)
    }

    /// Continues a node that was paused; false if it was not.
    pub fn resume_node(&self, name: &str) -> bool {
        self.inner.gates.lock().get(name).is_some_and(Gate::open)
    }

    /// Sets the wall clock of a node that has informers of its own forward, or back if the duration is negative. Several
    /// changes add up. False if the node has none.
    pub fn shift_clock(&self, name: &str, duration: SignedDuration) -> bool {
        self.inner.skews.lock().get(name).map(|skew| skew.shift(duration)).is_some()
    }

    /// Sets one switch of a node because of the entry `cause`; returns whether that is a change. False if there is no
    /// node of this name.
    pub fn switch_node(&self, name: &str, switch: NodeSwitch, is_usual: bool, cause: Option<EntryId>) -> bool {
        self.inner.nodes.switch(name, switch, is_usual, self.inner.ambient.clock.now(), cause)
    }

    /// Lets `handler` carry out what annotations of Nodes say from now on, in place of the handler before. If it returns
    /// false, the node is switched without it.
    pub fn switched_by(&self, handler: impl Fn(&SwitchedNode) -> bool + Send + Sync + 'static) {
        self.inner.nodes.switched_by(Arc::new(handler));
    }

    /// Whether a node acts: false if it has no power, is stopped or partitioned. True for a name that is not one of
    /// these nodes.
    pub fn acts(&self, name: &str) -> bool {
        self.inner.nodes.acts(name)
    }

    fn set(&self, name: &str, switches: &[NodeSwitch], is_usual: bool) -> bool {
        self.inner.nodes.set(name, switches, is_usual, self.inner.ambient.clock.now())
    }

    /// The state of the nodes that the API does not have.
    pub fn save(&self) -> SavedNodes {
        self.inner.nodes.save()
    }

    /// Restores the state of nodes, as after a restart of their kubelets: containers that were running still run. Nodes
    /// without saved state stay as they are.
    ///
    /// Call it before [`run`](Self::run), with a store that is not newer than the saved state.
    pub fn restore(&self, saved: SavedNodes) {
        self.inner.nodes.restore(saved);
    }

    /// The pods with a running container on the machine of a node, whatever the API shows.
    pub fn running_on(&self, name: &str) -> Vec<ObjectKey> {
        self.inner.nodes.running_on(name)
    }

    /// The kubelet API of a node as a tower service: `/containerLogs/{namespace}/{pod}/{container}`. None if there is
    /// no such node, or if it does not run or cannot be reached.
    pub fn service_for(&self, name: &str) -> Option<NodeApi> {
        Some(NodeApi::new(self.inner.nodes.machine(name)?, self.inner.ambient.clock.clone()))
    }

    /// The node that runs a pod, if it is one of these nodes.
    pub fn node_of(&self, pod: &ObjectKey) -> Option<String> {
        let has_it = |name: &String| self.inner.nodes.machine(name).is_some_and(|machine| machine.pod(pod).is_some());
        self.nodes().into_iter().find(has_it)
    }

    /// Runs the nodes until `shutdown`, or until the future is dropped; it may be called again afterwards.
    ///
    /// # Panics
    /// If a worker panics.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let nodes = &self.inner.nodes;
        // Created before the fleets, so that it is dropped after them.
        let _speaking = Speaking::begin(nodes);
        let mut fleets = JoinSet::new();
        fleets.spawn(gated(self.fleet(None).run()));
        let mut apart = Vec::new();
        let running = async {
            loop {
                let mut changed = pin!(nodes.changed.notified());
                changed.as_mut().enable();
                for name in
                    nodes.with_own_informers().into_iter().filter(|name| !apart.contains(name)).collect::<Vec<_>>()
                {
                    let gate = Gate::current().within();
                    fleets.spawn(gate.guard(self.fleet(Some(&name)).run()));
                    self.inner.gates.lock().insert(Arc::clone(&name), gate);
                    apart.push(name);
                }
                let ended = async {
                    if let Some(Err(error)) = fleets.join_next().await
                        && error.is_panic()
                    {
                        std::panic::resume_unwind(error.into_panic());
                    }
                };
                select(pin!(ended), changed).await;
            }
        };
        // `select` polls the left future first, always.
        select(pin!(shutdown), pin!(running)).await;
    }

    /// The fleet of all nodes that share informers, or of one node with its own.
    fn fleet(&self, only: Option<&str>) -> Fleet {
        let inner = &self.inner;
        let user_agent = inner.config.user_agent();
        let client = only.map_or_else(|| (inner.reader)(), |name| (inner.client_of)(name)).with_user_agent(&user_agent);
        let (name, ambient) = match only {
            None => ("kubelet".to_owned(), inner.ambient.clone()),
            Some(name) => {
                let skew = inner.skews.lock().entry(name.to_owned()).or_default().clone();
                (format!("kubelet/{name}"), inner.ambient.split(name).skewed_by(&skew))
            }
        };
        let process = Process::new(&name, &client, &ambient, &inner.recorder).with_speakers(inner.nodes.count());
        Fleet {
            nodes: inner.nodes.clone(),
            config: inner.config.clone(),
            process,
            client_of: inner.client_of.clone(),
            only: only.map(Arc::from),
        }
    }
}

/// Ends the agents of all nodes when it is dropped. The client of an agent refers to the nodes, so that an agent that
/// stays would never be freed.
struct Speaking<'n>(&'n Nodes);

impl<'n> Speaking<'n> {
    fn begin(nodes: &'n Nodes) -> Self {
        // Ends an agent that was being started when the previous run ended.
        nodes.end_agents();
        Self(nodes)
    }
}

impl Drop for Speaking<'_> {
    fn drop(&mut self) {
        self.0.end_agents();
    }
}
