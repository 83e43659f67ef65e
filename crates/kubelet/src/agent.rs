use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::coordination_v1::{Lease, LeaseSpec};
use coracle_api::core_v1::{Node, Pod};
use coracle_client::{Api, Client, Error, Patch};
use coracle_controller_runtime::{Controller, EventRecorder, EventType, Process, key_of};
use coracle_informer::{Lister, Selection};
use coracle_meta::{ObjectKey, OwnerReference, format_micro_time};
use tokio::time::{Instant, sleep, sleep_until};

use crate::machine::Machine;
use crate::node::{SIMULATED, is_reported, node, status_patch};
use crate::pods::Pods;
use crate::reach::Reach;
use crate::{Config, NodeSpec, csi};

/// Where Leases of nodes are.
const LEASES: &str = "kube-node-lease";
/// How long a node waits before it tries to register again.
const RETRY: Duration = Duration::from_millis(500);
/// How many pods of a node are worked on at once.
const WORKERS: usize = 4;

/// What speaks for one machine: registers its Node, says that it is alive, and lets its pods live.
///
/// In Kubernetes: the kubelet of one node.
pub(crate) struct Agent {
    pub(crate) spec: NodeSpec,
    pub(crate) config: Config,
    pub(crate) machine: Arc<Machine>,
    pub(crate) process: Process,
}

impl Agent {
    /// Works until it is dropped; returns only if the Node of this name is somebody else's.
    pub(crate) async fn run(self) {
        let Some(registered) = self.register().await else { return };
        let own = Selection { fields: format!("metadata.name={}", self.spec.name), ..Selection::default() };
        let bound = Selection { fields: format!("spec.nodeName={}", self.spec.name), ..Selection::default() };
        let nodes = self.process.informers.selected::<Node>(own);
        let pods = self.process.informers.selected::<Pod>(bound);
        let events = EventRecorder::new(&self.process, "kubelet").on_host(&self.spec.name);
        self.tell(&events, &registered);
        self.machine.reached_by(Reach {
            node: self.spec.name.clone(),
            pods: pods.lister(),
            client: self.process.client.clone(),
        });
        let reconciler = Pods {
            node: self.spec.name.clone(),
            actor: self.process.name.clone(),
            machine: self.machine.clone(),
            pods: pods.lister(),
            nodes: nodes.lister(),
            delays: self.config.delays.clone(),
            recorder: self.process.recorder.clone(),
            clock: self.process.ambient.clock.clone(),
            events,
        };
        let controller = Controller::new(&self.process, "pods", reconciler).watches(&pods, key_of).workers(WORKERS);
        for key in self.machine.keys() {
            // A pod that is gone since the agent last ran is told by no event.
            controller.queue().add(key, &[]);
        }
        let heartbeat = Heartbeat {
            name: self.spec.name.clone(),
            config: self.config.clone(),
            client: self.process.client.clone(),
            clock: self.process.ambient.clock.clone(),
            nodes: nodes.lister(),
            lease: None,
        };
        tokio::join!(biased; self.process.run(), heartbeat.run(registered), controller.run());
    }

    /// Makes the Node, or finds the one that was made before; none if it is not this node's own.
    async fn register(&self) -> Option<Node> {
        let nodes: Api<Node> = Api::of(&self.process.client);
        let key = ObjectKey::cluster(self.spec.name.as_str());
        loop {
            let object = node(&self.spec, &self.machine.address, self.process.ambient.clock.now());
            let registered = match nodes.create(&object).await {
                Err(error) if error.is_already_exists() => nodes.get(&key).await,
                created => created,
            };
            match registered {
                Ok(node) if node.metadata.annotations.contains_key(SIMULATED) => {
                    let Err(error) = self.register_driver(&node).await else { return Some(node) };
                    tracing::debug!(%error, node = %key, "the CSI driver could not be registered");
                    sleep(RETRY).await;
                }
                Ok(_) => {
                    tracing::warn!(node = %key, "a Node of this name exists and was not registered by a simulated node");
                    return None;
                }
                Err(error) => {
                    tracing::debug!(%error, node = %key, "a node could not register");
                    sleep(RETRY).await;
                }
            }
        }
    }

    async fn register_driver(&self, node: &Node) -> Result<(), Error> {
        if self.config.csi_driver { csi::register(&self.process.client, node).await } else { Ok(()) }
    }

    /// What a kubelet says when it begins. The Node is named without its uid, as kubelets do.
    fn tell(&self, events: &EventRecorder, node: &Node) {
        let mut reference = coracle_controller_runtime::reference_to(node);
        reference.uid = self.spec.name.clone();
        reference.resource_version.clear();
        let name = &self.spec.name;
        let said = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"];
        events.event_on(reference.clone(), EventType::Normal, "Starting", "Starting kubelet.");
        for reason in said {
            let message = format!("Node {name} status is now: {reason}");
            events.event_on(reference.clone(), EventType::Normal, reason, message);
        }
    }
}

/// Says that a node is alive: by its Lease, and now and then by its status.
struct Heartbeat {
    name: String,
    config: Config,
    client: Client,
    clock: Clock,
    nodes: Lister<Node>,
    /// The Lease as it was last written; none before, and after somebody else has changed it.
    lease: Option<Lease>,
}

impl Heartbeat {
    async fn run(mut self, registered: Node) {
        let mut reported = Instant::now();
        let mut next = Instant::now();
        let mut registered = Some(registered);
        loop {
            // A Node that somebody deleted is not made again before the agent is started again.
            let node = registered.take().map(Arc::new).or_else(|| self.nodes.get(&self.key()));
            if let Some(node) = node {
                if let Err(error) = self.renew(&node).await {
                    tracing::debug!(%error, node = self.name, "a lease could not be renewed");
                }
                let due = reported.elapsed() >= self.config.status_report;
                if (due || !is_reported(&node, self.clock.now())) && self.report(&node).await.is_ok() {
                    reported = Instant::now();
                }
            }
            next += self.config.lease_renewal;
            sleep_until(next).await;
        }
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::cluster(self.name.as_str())
    }

    async fn report(&self, node: &Node) -> Result<(), Error> {
        let patch = Patch::Strategic(status_patch(node, self.clock.now()));
        Api::<Node>::of(&self.client).patch_status(&self.key(), &patch).await.map(drop)
    }

    /// In Kubernetes: `backoffEnsureLease` and `retryUpdateLease`: the Lease is read only if it is not known.
    async fn renew(&mut self, node: &Node) -> Result<(), Error> {
        let leases: Api<Lease> = Api::of(&self.client);
        let key = ObjectKey::new(LEASES, self.name.as_str());
        if let Some(lease) = self.lease.take() {
            match leases.update(&self.renewed(lease)).await {
                Ok(lease) => {
                    self.lease = Some(lease);
                    return Ok(());
                }
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        self.lease = Some(match leases.find(&key).await? {
            Some(lease) => leases.update(&self.renewed(lease)).await?,
            None => leases.create(&self.renewed(self.new_lease(&key, node))).await?,
        });
        Ok(())
    }

    fn renewed(&self, mut lease: Lease) -> Lease {
        lease.spec = LeaseSpec {
            holder_identity: Some(self.name.clone()),
            lease_duration_seconds: i32::try_from(self.config.lease_duration.as_secs()).ok(),
            renew_time: Some(format_micro_time(self.clock.now())),
            ..LeaseSpec::default()
        };
        lease
    }

    fn new_lease(&self, key: &ObjectKey, node: &Node) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(key.name.clone());
        lease.metadata.namespace = Some(key.namespace.clone());
        lease.metadata.owner_references = vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            name: self.name.clone(),
            uid: node.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        }];
        lease
    }
}
