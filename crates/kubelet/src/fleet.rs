use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{Node, Pod};
use coracle_client::{Client, Error};
use coracle_controller_runtime::{Controller, EventRecorder, EventType, Process};
use coracle_informer::{Lister, Notification, Selection, SharedInformer};
use coracle_kubelet_api::is_simulated;
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::{RateLimiter, WorkQueue};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::node::agent::Agent;
use crate::node::exec_context::ExecContext;
use crate::node::heartbeat::send_heartbeat;
use crate::node::node_status::spec_of;
use crate::node::node_switches::differ;
use crate::node::nodes::Nodes;
use crate::node::pod_key::PodKey;
use crate::node::pod_view::PodView;
use crate::node::registration::{Registered, register};
use crate::sync::certificate_requests::CertificateRequests;
use crate::sync::pod_workers::PodWorkers;
use crate::volumes::register_csi_driver;
use crate::{Config, NodeSpec};

/// How long a node waits before it tries to register again.
const RETRY: Duration = Duration::from_millis(500);
/// How many pods the workers process concurrently.
const POD_WORKERS: usize = 32;
/// How many nodes register or send heartbeats concurrently.
const NODE_WORKERS: usize = 16;

/// The nodes of a process that share one informer of pods, one of Nodes, one queue of pods and one of nodes.
///
/// ```text
/// informer of pods  --> queue of pods (node, key)  --> workers --> PodWorkers::reconcile as that node
/// informer of Nodes --> changed annotations, new Nodes to simulate
///                         v
/// queue of nodes (due times) --> workers --> apply_annotations; register, renew the Lease, report the status
/// ```
/// No task, watch or worker belongs to a node or a pod.
pub(crate) struct Fleet {
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) config: Arc<Config>,
    pub(crate) process: Process,
    /// Creates the API client of a node.
    pub(crate) client_of: Arc<dyn Fn(&str) -> Client + Send + Sync>,
    /// The node of this fleet, if it has informers of its own; none for the fleet of all other nodes.
    pub(crate) only: Option<Arc<str>>,
}

/// What the workers of a fleet share.
struct Caches {
    pods: SharedInformer<Pod>,
    nodes: Lister<Node>,
    events: EventRecorder,
    pod_queue: WorkQueue<PodKey>,
    due: WorkQueue<Arc<str>>,
}

impl Fleet {
    /// Works until the future is dropped.
    pub(crate) async fn run(self) {
        let (own, bound) = self.selections();
        let nodes = self.process.informers.selected::<Node>(own);
        let pods = self.process.informers.selected::<Pod>(bound);
        PodView::index(&pods);
        let queue = self.process.queue("pods", RateLimiter::default());
        let reconciler = self.pod_workers(nodes.lister(), &queue);
        let keys = {
            let nodes = self.nodes.clone();
            move |change: &Notification<Pod>| keys_of(change, &nodes)
        };
        let workers = if self.only.is_some() { 4 } else { POD_WORKERS };
        let waiting = {
            let table = self.nodes.clone();
            move |change: &Notification<Node>| waiting_for(change, &table)
        };
        let controller = Controller::on_queue(&self.process, "pods", queue, reconciler);
        let controller = controller.watches(&pods, keys).watches(&nodes, waiting).workers(workers);
        let caches = Caches {
            nodes: nodes.lister(),
            events: EventRecorder::new(&self.process, "kubelet"),
            pods: pods.clone(),
            pod_queue: controller.queue(),
            due: WorkQueue::new("nodes"),
        };
        let (table, due, only) = (self.nodes.clone(), caches.due.clone(), self.only.clone());
        let looks = caches.pod_queue.clone();
        nodes.add_handler(&self.process.actor("nodes"), move |change, causes| {
            let name = change.object().metadata.name.as_deref().unwrap_or_default();
            // The shared informers read the annotations of all nodes: those of a partitioned node may see nothing.
            if is_of_interest(change, &table) && (only.is_none() || table.has_own_informers(name)) {
                due.add(name.into(), causes);
            }
            let agent = table.agent(name).filter(|_| only.is_some() == table.has_own_informers(name));
            if let Some(agent) = agent.filter(|agent| agent.machine.may_be_short(change.object())) {
                looks.add(PodKey::of_node(&agent.name), causes);
            }
        });
        let nodes_at_work = async {
            nodes.synced().await;
            // The annotations of a node take effect before it sends its first request.
            for node in caches.nodes.list() {
                self.apply_annotations(node.metadata.name.as_deref().unwrap_or_default(), &caches);
            }
            let mut workers: FuturesUnordered<_> = (0..NODE_WORKERS).map(|_| self.run_node_worker(&caches)).collect();
            let work = async { while workers.next().await.is_some() {} };
            futures_util::future::join3(self.start_agents(&caches), self.follow_usages(&caches), work).await
        };
        tokio::join!(biased; self.process.run(), nodes_at_work, controller.run());
    }

    fn pod_workers(&self, node_objects: Lister<Node>, queue: &WorkQueue<PodKey>) -> PodWorkers {
        PodWorkers {
            nodes: self.nodes.clone(),
            node_objects,
            delays: self.config.delays.clone(),
            images: self.config.images.clone(),
            stages: self.config.stages.clone(),
            csi_drivers: self.config.csi_drivers.clone(),
            recorder: self.process.recorder.clone(),
            clock: self.process.ambient.clock.clone(),
            random: self.process.ambient.random.split("pod certificates"),
            has_pod_certificates: self.config.release.enabled("PodCertificateRequest"),
            certificate_requests: self.certificate_requests(queue),
            queue: queue.clone(),
        }
    }

    /// The cache of the pod certificate requests of this fleet's nodes.
    fn certificate_requests(&self, queue: &WorkQueue<PodKey>) -> CertificateRequests {
        let of_node = self.only.as_ref().map(|name| format!("spec.nodeName={name}"));
        CertificateRequests {
            informers: self.process.informers.clone(),
            selection: Selection { fields: of_node.unwrap_or_default(), ..Selection::default() },
            actor: self.process.actor("pods"),
            nodes: self.nodes.clone(),
            is_of_one_node: self.only.is_some(),
            queue: queue.clone(),
            lister: OnceLock::new(),
        }
    }

    /// What the informers select: everything, or the objects of the only node.
    fn selections(&self) -> (Selection, Selection) {
        let fields = |fields: String| Selection { fields, ..Selection::default() };
        match &self.only {
            None => (Selection::default(), fields("spec.nodeName!=".to_owned())),
            Some(name) => (fields(format!("metadata.name={name}")), fields(format!("spec.nodeName={name}"))),
        }
    }

    fn is_own(&self, spec: &NodeSpec) -> bool {
        match &self.only {
            None => !spec.own_informers,
            Some(name) => spec.name == **name,
        }
    }

    /// Starts an agent for each node that has power and no agent, now and after each change.
    async fn start_agents(&self, caches: &Caches) {
        loop {
            let mut changed = pin!(self.nodes.changed.notified());
            changed.as_mut().enable();
            for (spec, machine) in self.nodes.without_agent(|spec| self.is_own(spec)) {
                let client = (self.client_of)(&spec.name).with_user_agent(&self.config.user_agent());
                let view = |name: &Arc<str>| PodView::new(name, caches.pods.lister());
                let agent = Arc::new(Agent::new(&spec, &machine, client, &self.process, view));
                let name = agent.name.clone();
                self.nodes.set_agent(agent);
                caches.due.add(name, &[]);
            }
            for agent in self.nodes.take_reconnected(|spec| self.is_own(spec)) {
                agent.heartbeat.lock().next = Instant::now();
                caches.due.add(agent.name.clone(), &[]);
                self.enqueue_pods(&agent, caches);
            }
            changed.await;
        }
    }

    /// Enqueues all pods whenever usage objects change.
    async fn follow_usages(&self, caches: &Caches) {
        let Some(stages) = &self.config.stages else { return };
        loop {
            let mut changed = pin!(stages.usage_changed().notified());
            changed.as_mut().enable();
            let agents = self.nodes.names().into_iter().filter_map(|name| self.nodes.agent(&name));
            agents.filter(|agent| self.is_own(&agent.spec)).for_each(|agent| self.enqueue_pods(&agent, caches));
            changed.await;
        }
    }

    async fn run_node_worker(&self, caches: &Caches) {
        while let Some(work) = caches.due.get().await {
            if self.only.is_none() {
                self.apply_annotations(&work.key, caches);
            }
            if let Some(agent) = self.nodes.agent(&work.key).filter(|agent| self.is_own(&agent.spec))
                && let Some(delay) = self.sync_node(&agent, caches).await
            {
                caches.due.add_after(work.key.clone(), delay, &[]);
            }
            caches.due.done(&work.key);
        }
    }

    /// Applies the annotations of a Node. A Node that is annotated as simulated gets a simulated node.
    fn apply_annotations(&self, name: &str, caches: &Caches) {
        let Some(node) = caches.nodes.get(&ObjectKey::cluster(name)) else { return self.nodes.remove_adopted(name) };
        if !self.nodes.contains(name) && is_simulated(&node) {
            self.nodes.adopt(spec_of(&node));
        }
        for problem in self.nodes.apply_annotations(name, &node, self.process.ambient.clock.now()) {
            caches.events.event(&*node, EventType::Warning, "InvalidAnnotation", problem);
        }
    }

    /// Registers the node or sends a heartbeat if that is due; returns how long until the next one. None if there is no
    /// next one, because the Node of this name belongs to another kubelet.
    async fn sync_node(&self, agent: &Agent, caches: &Caches) -> Option<Duration> {
        let clock = &self.process.ambient.clock;
        let (is_registered, next) = {
            let state = agent.heartbeat.lock();
            (state.is_registered, state.next)
        };
        let early = next.saturating_duration_since(Instant::now());
        if is_registered && !early.is_zero() {
            return Some(early);
        }
        let node = if is_registered {
            // A deleted Node is not created again before the agent is started again.
            caches.nodes.get(&ObjectKey::cluster(&*agent.name))
        } else {
            match register_with_drivers(agent, &self.config, clock).await {
                Ok(Registered::As(node)) => {
                    self.begin(agent, &node, caches);
                    Some(Arc::from(node))
                }
                Ok(Registered::Taken) => return None,
                Err(error) => {
                    tracing::debug!(%error, node = &*agent.name, "a node could not register");
                    return (!agent.has_ended()).then_some(RETRY);
                }
            }
        };
        if let Some(node) = node {
            send_heartbeat(agent, &node, &self.config, clock).await;
        }
        let mut state = agent.heartbeat.lock();
        state.next += self.config.lease_renewal;
        (!agent.has_ended()).then(|| state.next.saturating_duration_since(Instant::now()))
    }

    /// Starts the work on pods after the node has registered.
    fn begin(&self, agent: &Agent, node: &Node, caches: &Caches) {
        {
            let mut state = agent.heartbeat.lock();
            state.is_registered = true;
            (state.next, state.reported) = (Instant::now(), Instant::now());
        }
        if !self.config.has_stages_for("Node") {
            agent.record_start(node);
        }
        agent.machine.meters.begin(node, self.process.ambient.clock.now());
        agent.machine.set_exec_context(ExecContext {
            node: agent.name.to_string(),
            pods: caches.pods.lister(),
            nodes: caches.nodes.clone(),
            client: agent.speaker.client.clone(),
        });
        caches.pod_queue.add(PodKey::of_node(&agent.name), &[]);
        self.enqueue_pods(agent, caches);
    }

    /// Enqueues all pods of the node. No notification reports a pod that was deleted while the agent did not run or was
    /// partitioned.
    fn enqueue_pods(&self, agent: &Agent, caches: &Caches) {
        let bound = agent.pod_view.pods().into_iter().map(|pod| pod.key());
        // This key names no pod: no container runs for it, but the volume manager cleans up volumes.
        let own = ObjectKey::cluster(&*agent.name);
        let own_pods = agent.machine.keys().into_iter().chain(agent.machine.static_pods.keys());
        let known = own_pods.chain(agent.volumes.pods());
        let keys: std::collections::BTreeSet<ObjectKey> = known.chain(bound).chain([own]).collect();
        for pod in keys {
            caches.pod_queue.add(PodKey { node: agent.name.clone(), pod }, &[]);
        }
    }
}

/// Whether a change of a Node is relevant to this fleet.
fn is_of_interest(change: &Notification<Node>, table: &Nodes) -> bool {
    let is_known = || table.contains(change.object().metadata.name.as_deref().unwrap_or_default());
    match change {
        Notification::Added { object, .. } => is_simulated(object),
        Notification::Updated { old, new } => is_simulated(new) && (differ(old, new) || !is_known()),
        Notification::Deleted { .. } => is_known(),
    }
}

/// The pods that wait for the volume fields of their node's status.
fn waiting_for(change: &Notification<Node>, nodes: &Nodes) -> Vec<PodKey> {
    let said = |node: &Node| (node.status.volumes_in_use.clone(), node.status.volumes_attached.clone());
    let node = change.object();
    if change.old().is_some_and(|old| said(old) == said(node)) {
        return Vec::new();
    }
    let Some(agent) = node.metadata.name.as_deref().and_then(|name| nodes.agent(name)) else { return Vec::new() };
    let own = agent.volumes.observe_in_use(&node.status.volumes_in_use).then(|| ObjectKey::cluster(&*agent.name));
    let waiting = agent.volumes.waiting().into_iter();
    waiting.chain(own).map(|pod| PodKey { node: agent.name.clone(), pod }).collect()
}

/// The pods on nodes of this fleet that a notification is about.
fn keys_of(change: &Notification<Pod>, nodes: &Nodes) -> Vec<PodKey> {
    let of = |pod: &Arc<Pod>| {
        let agent = nodes.agent(&pod.spec.node_name)?;
        Some(PodKey { node: agent.name.clone(), pod: pod.key() })
    };
    let new = of(change.object());
    // Another pod of the same name may be on another node by now.
    let old = change.old().filter(|old| old.spec.node_name != change.object().spec.node_name).and_then(of);
    new.into_iter().chain(old).collect()
}

/// Registers a node, and then the CSI drivers that run on it.
async fn register_with_drivers(agent: &Agent, config: &Config, clock: &Clock) -> Result<Registered, Error> {
    let registered = register(agent, config, clock).await?;
    if let Registered::As(node) = &registered {
        for driver in config.csi_drivers.iter() {
            register_csi_driver(&agent.speaker.client, node, driver).await?;
        }
    }
    Ok(registered)
}
