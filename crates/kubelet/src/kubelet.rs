use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::Recorder;
use coracle_meta::{KUBERNETES_VERSION, ObjectKey};
use futures_util::future::select;
use tokio::task::JoinSet;

use crate::fleet::Fleet;
use crate::node_api::NodeApi;
use crate::nodes::Nodes;
use crate::orders::Order;
use crate::{Config, NodeSpec, SavedNodes};

/// Several simulated nodes in one process; clones are handles of the same ones.
///
/// Each node has a machine, which keeps its pods, and an agent, which speaks for it while [`Kubelet::run`] runs. A node
/// that is stopped falls silent where it stands, as if its power were cut; its pods are there again when it is started.
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
}

impl std::fmt::Debug for Kubelet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubelet").field("nodes", &self.nodes()).finish_non_exhaustive()
    }
}

impl Kubelet {
    /// Nodes that all speak through one client.
    pub fn new(config: Config, client: Client, ambient: Ambient, recorder: Recorder) -> Self {
        let reader = client.clone();
        Self::with_clients(config, move || reader.clone(), move |_| client.clone(), ambient, recorder)
    }

    /// Nodes that write through a client each, so that the API server can tell them apart: `client_of` gives that of a
    /// name. What they read they read together, through `reader`, which may list all pods and Nodes; but a node with
    /// [own informers](NodeSpec::own_informers) reads as itself.
    pub fn with_clients(
        config: Config,
        reader: impl Fn() -> Client + Send + Sync + 'static,
        client_of: impl Fn(&str) -> Client + Send + Sync + 'static,
        ambient: Ambient,
        recorder: Recorder,
    ) -> Self {
        let nodes = Arc::new(Nodes::new(config.stages.clone(), recorder.clone()));
        config.nodes.iter().cloned().for_each(|spec| nodes.add(spec));
        let (reader, client_of) = (Box::new(reader), Arc::new(client_of));
        Self { inner: Arc::new(Inner { config: Arc::new(config), reader, client_of, ambient, recorder, nodes }) }
    }

    /// One more node; one of the same name is left as it is.
    pub fn add_node(&self, spec: NodeSpec) {
        self.inner.nodes.add(spec);
    }

    /// The names of the nodes, whether they run or not.
    pub fn nodes(&self) -> Vec<String> {
        self.inner.nodes.names()
    }

    /// Whether there is a node of this name, whether it runs or not.
    pub fn has_node(&self, name: &str) -> bool {
        self.inner.nodes.contains(name)
    }

    /// Stops a node's kubelet: the node falls silent where it stands, and its pods go on. False if there is none of this
    /// name.
    pub fn stop_node(&self, name: &str) -> bool {
        self.set(name, &[Order::Kubelet], false)
    }

    /// Starts a node that was stopped or has no power. False if there is none of this name.
    pub fn start_node(&self, name: &str) -> bool {
        self.set(name, &[Order::Power, Order::Kubelet], true)
    }

    /// Cuts a node's power: what ran on it is lost, and begins anew when it is started. False if there is none of this
    /// name.
    pub fn kill_node(&self, name: &str) -> bool {
        self.set(name, &[Order::Power], false)
    }

    /// Cuts a node off, or ends that: it goes on with what it saw last, and nothing goes between it and the API. False if
    /// there is none of this name.
    pub fn partition_node(&self, name: &str, is_cut_off: bool) -> bool {
        self.set(name, &[Order::Partition], !is_cut_off)
    }

    /// Whether anything happens on a node: not if it has no power, is stopped or cut off. True for what is none of these.
    pub fn acts(&self, name: &str) -> bool {
        self.inner.nodes.acts(name)
    }

    fn set(&self, name: &str, orders: &[Order], is_usual: bool) -> bool {
        self.inner.nodes.set(name, orders, is_usual, self.inner.ambient.clock.now())
    }

    /// What the nodes hold at the moment that the API does not say.
    pub fn save(&self) -> SavedNodes {
        self.inner.nodes.save()
    }

    /// Lets the nodes go on where these were, as after a start of their kubelets: containers that ran have gone on. Nodes of
    /// which nothing was saved stay as they are.
    ///
    /// To be called before [`run`](Self::run), with a store that is not newer than what was saved.
    pub fn restore(&self, saved: SavedNodes) {
        self.inner.nodes.restore(saved);
    }

    /// The pods of which a container runs on the machine beneath a node, whatever the API says of them.
    pub fn running_on(&self, name: &str) -> Vec<ObjectKey> {
        self.inner.nodes.running_on(name)
    }

    /// The API of a node, as a tower service: `/containerLogs/{namespace}/{pod}/{container}`. None if the node is not
    /// one of these, does not run, or cannot be reached.
    pub fn service_for(&self, name: &str) -> Option<NodeApi> {
        Some(NodeApi::new(self.inner.nodes.machine(name)?, self.inner.ambient.clock.clone()))
    }

    /// The node on which a pod runs that one of these nodes knows.
    pub fn node_of(&self, pod: &ObjectKey) -> Option<String> {
        let has_it = |name: &String| self.inner.nodes.machine(name).is_some_and(|machine| machine.pod(pod).is_some());
        self.nodes().into_iter().find(has_it)
    }

    /// Runs the nodes until `shutdown`, or until it is dropped; it may be called again afterwards.
    ///
    /// # Panics
    /// If a node does.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let nodes = &self.inner.nodes;
        // Before the fleets, so that it goes after them.
        let _speaking = Speaking::begin(nodes);
        let mut fleets = JoinSet::new();
        fleets.spawn(self.fleet(None).run());
        let mut apart = Vec::new();
        let running = async {
            loop {
                let mut changed = pin!(nodes.changed.notified());
                changed.as_mut().enable();
                for name in nodes.apart().into_iter().filter(|name| !apart.contains(name)).collect::<Vec<_>>() {
                    fleets.spawn(self.fleet(Some(&name)).run());
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
        // Looks at the left one first, always.
        select(pin!(shutdown), pin!(running)).await;
    }

    /// All nodes that share what they read, or one that reads by itself.
    fn fleet(&self, only: Option<&str>) -> Fleet {
        let inner = &self.inner;
        let user_agent = format!("kubelet/{KUBERNETES_VERSION}");
        let client = only.map_or_else(|| (inner.reader)(), |name| (inner.client_of)(name)).with_user_agent(&user_agent);
        let (name, ambient) = match only {
            None => ("kubelet".to_owned(), inner.ambient.clone()),
            Some(name) => (format!("kubelet/{name}"), inner.ambient.split(name)),
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

/// That agents speak for nodes: they end with it, however it ends. What they speak with leads back to the nodes, so that nothing of
/// either would ever be freed.
struct Speaking<'n>(&'n Nodes);

impl<'n> Speaking<'n> {
    fn begin(nodes: &'n Nodes) -> Self {
        // One that was about to begin when the run before ended.
        nodes.end_agents();
        Self(nodes)
    }
}

impl Drop for Speaking<'_> {
    fn drop(&mut self) {
        self.0.end_agents();
    }
}
