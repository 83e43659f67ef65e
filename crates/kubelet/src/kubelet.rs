use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::Recorder;
use coracle_meta::KUBERNETES_VERSION;
use futures_util::future::select;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::agent::Agent;
use crate::machine::Machine;
use crate::node_api::NodeApi;
use crate::{Config, NodeSpec};

/// Several simulated nodes in one process; clones are handles of the same ones.
///
/// Each node has a machine, which keeps its pods, and an agent, which speaks for it while [`Kubelet::run`] runs. A node
/// that is stopped falls silent where it stands, as if its power were cut; its pods are there again when it is started.
#[derive(Clone)]
pub struct Kubelet {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    client: Box<dyn Fn(&str) -> Client + Send + Sync>,
    ambient: Ambient,
    recorder: Recorder,
    nodes: Mutex<Nodes>,
    /// Rings when a node is to be started or stopped.
    changed: Notify,
}

#[derive(Default)]
struct Nodes {
    by_name: BTreeMap<String, SimulatedNode>,
    made: u32,
}

struct SimulatedNode {
    spec: NodeSpec,
    machine: Arc<Machine>,
    wanted: bool,
    agent: Option<AbortHandle>,
}

impl std::fmt::Debug for Kubelet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubelet").field("nodes", &self.nodes()).finish_non_exhaustive()
    }
}

impl Kubelet {
    /// Nodes that all speak through one client.
    pub fn new(config: Config, client: Client, ambient: Ambient, recorder: Recorder) -> Self {
        Self::with_clients(config, move |_| client.clone(), ambient, recorder)
    }

    /// Nodes that speak through a client each, so that the API server can tell them apart: `client` gives that of a name.
    pub fn with_clients(
        config: Config,
        client: impl Fn(&str) -> Client + Send + Sync + 'static,
        ambient: Ambient,
        recorder: Recorder,
    ) -> Self {
        let specs = config.nodes.clone();
        let nodes = Mutex::default();
        let kubelet = Self {
            inner: Arc::new(Inner {
                config,
                client: Box::new(client),
                ambient,
                recorder,
                nodes,
                changed: Notify::new(),
            }),
        };
        for spec in specs {
            kubelet.add_node(spec);
        }
        kubelet
    }

    /// One more node; one of the same name is left as it is.
    pub fn add_node(&self, spec: NodeSpec) {
        let mut nodes = self.inner.nodes.lock();
        let number = nodes.made;
        if !nodes.by_name.contains_key(&spec.name) {
            nodes.made += 1;
            let machine = Arc::new(Machine::new(number));
            nodes.by_name.insert(spec.name.clone(), SimulatedNode { spec, machine, wanted: true, agent: None });
        }
        drop(nodes);
        self.inner.changed.notify_one();
    }

    /// The names of the nodes, whether they run or not.
    pub fn nodes(&self) -> Vec<String> {
        self.inner.nodes.lock().by_name.keys().cloned().collect()
    }

    /// Cuts a node's power. False if there is none of this name.
    pub fn stop_node(&self, name: &str) -> bool {
        self.want(name, false)
    }

    /// Gives a node its power back. False if there is none of this name.
    pub fn start_node(&self, name: &str) -> bool {
        self.want(name, true)
    }

    fn want(&self, name: &str, wanted: bool) -> bool {
        let mut nodes = self.inner.nodes.lock();
        let Some(node) = nodes.by_name.get_mut(name) else { return false };
        node.wanted = wanted;
        if let Some(agent) = node.agent.take_if(|_| !wanted) {
            agent.abort();
        }
        drop(nodes);
        self.inner.changed.notify_one();
        true
    }

    /// The API of a node, as a tower service: `/containerLogs/{namespace}/{pod}/{container}`. None if the node is not
    /// one of these, or has no power.
    pub fn service_for(&self, name: &str) -> Option<NodeApi> {
        let nodes = self.inner.nodes.lock();
        let node = nodes.by_name.get(name).filter(|node| node.wanted)?;
        Some(NodeApi::new(node.machine.clone(), self.inner.ambient.clock.clone()))
    }

    /// Runs the nodes until `shutdown`, or until it is dropped; it may be called again afterwards.
    ///
    /// # Panics
    /// If a node does.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let mut agents = JoinSet::new();
        self.forget_agents();
        let nodes = async {
            loop {
                self.start_wanted(&mut agents);
                let ended = async {
                    match agents.join_next().await {
                        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                        Some(_) => {}
                        None => std::future::pending().await,
                    }
                };
                select(pin!(ended), pin!(self.inner.changed.notified())).await;
            }
        };
        // Looks at the left one first, always.
        select(pin!(shutdown), pin!(nodes)).await;
    }

    /// The agents of an earlier run ended with it, however it ended.
    fn forget_agents(&self) {
        self.inner.nodes.lock().by_name.values_mut().for_each(|node| node.agent = None);
    }

    /// An agent that has ended by itself is not started again: its Node is somebody else's.
    fn start_wanted(&self, agents: &mut JoinSet<()>) {
        for (name, node) in &mut self.inner.nodes.lock().by_name {
            if node.wanted && node.agent.is_none() {
                node.agent = Some(agents.spawn(self.agent(name, node).run()));
            }
        }
    }

    fn agent(&self, name: &str, node: &SimulatedNode) -> Agent {
        let client = (self.inner.client)(name).with_user_agent(&format!("kubelet/{KUBERNETES_VERSION}"));
        let ambient = self.inner.ambient.split(name);
        let process = Process::new(&format!("kubelet/{name}"), &client, &ambient, &self.inner.recorder).on_host(name);
        Agent { spec: node.spec.clone(), config: self.inner.config.clone(), machine: node.machine.clone(), process }
    }
}
