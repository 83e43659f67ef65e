//! The heartbeat of a node: it renews its Lease, and reports its status at a longer interval.

use coracle_ambient::Clock;
use coracle_api::coordination_v1::{Lease, LeaseSpec};
use coracle_api::core_v1::{ContainerImage, Node};
use coracle_client::{Api, Error, Patch};
use coracle_meta::{ObjectKey, OwnerReference, format_micro_time};
use tokio::time::Instant;

use crate::Config;
use crate::node::agent::Agent;
use crate::node::node_status::{images_with, is_reported, status_patch};

/// The namespace of node Leases.
const LEASES: &str = "kube-node-lease";

/// Renews the Lease of a node, and reports its status if that is due or if the API shows another one.
pub(crate) async fn send_heartbeat(agent: &Agent, node: &Node, config: &Config, clock: &Clock) {
    if let Err(error) = renew(agent, node, config, clock).await {
        tracing::debug!(%error, node = &*agent.name, "a lease could not be renewed");
    }
    if config.has_stages_for("Node") {
        return;
    }
    let is_due = agent.heartbeat.lock().reported.elapsed() >= config.status_report;
    let pressed = agent.machine.shortage.pressed();
    let images = new_images(agent, node, config, clock);
    let is_due = is_due || images.is_some() || !is_reported(node, &pressed);
    if is_due && report(agent, node, images, clock).await.is_ok() {
        agent.heartbeat.lock().reported = Instant::now();
    }
}

/// The images of the Node, if the node has pulled one that it does not show.
fn new_images(agent: &Agent, node: &Node, config: &Config, clock: &Clock) -> Option<Vec<ContainerImage>> {
    let on_node = agent.machine.images.lock().clone();
    let pulled = on_node.present(clock.now()).map(|image| ContainerImage {
        names: vec![image.to_string()],
        size_bytes: i64::try_from(config.images.size(image)).unwrap_or(i64::MAX),
        unknown: None,
    });
    let pulled: Vec<ContainerImage> = pulled.collect();
    if pulled.is_empty() { None } else { images_with(node, pulled) }
}

async fn report(agent: &Agent, node: &Node, images: Option<Vec<ContainerImage>>, clock: &Clock) -> Result<(), Error> {
    let patch = Patch::Strategic(status_patch(node, &agent.machine.shortage.pressed(), images, clock.now()));
    let key = ObjectKey::cluster(&*agent.name);
    Api::<Node>::of(&agent.speaker.client).patch_status_unread(&key, &patch).await
}

/// In Kubernetes: `backoffEnsureLease` and `retryUpdateLease`. The agent reads the Lease only if it does not know it.
async fn renew(agent: &Agent, node: &Node, config: &Config, clock: &Clock) -> Result<(), Error> {
    let leases: Api<Lease> = Api::of(&agent.speaker.client);
    let key = ObjectKey::new(LEASES, &*agent.name);
    let known = agent.heartbeat.lock().lease.take();
    if let Some(lease) = known {
        match leases.update(&renewed(agent, lease, config, clock)).await {
            Ok(lease) => {
                agent.keep(lease);
                return Ok(());
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let lease = match leases.find(&key).await? {
        Some(lease) => leases.update(&renewed(agent, lease, config, clock)).await?,
        None => leases.create(&renewed(agent, new_lease(&key, node), config, clock)).await?,
    };
    agent.keep(lease);
    Ok(())
}

impl Agent {
    /// Keeps the Lease for the next renewal.
    ///
    /// Unlike Kubernetes: without its managed fields. An update without them keeps those of the server.
    fn keep(&self, mut lease: Lease) {
        lease.metadata.managed_fields = Vec::new();
        self.heartbeat.lock().lease = Some(lease);
    }
}

fn renewed(agent: &Agent, mut lease: Lease, config: &Config, clock: &Clock) -> Lease {
    lease.spec = LeaseSpec {
        holder_identity: Some(agent.name.to_string()),
        lease_duration_seconds: i32::try_from(config.lease_duration.as_secs()).ok(),
        renew_time: Some(format_micro_time(clock.now())),
        ..LeaseSpec::default()
    };
    lease
}

fn new_lease(key: &ObjectKey, node: &Node) -> Lease {
    let mut lease = Lease::default();
    lease.metadata.name = Some(key.name.clone());
    lease.metadata.namespace = Some(key.namespace.clone());
    lease.metadata.owner_references = vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: key.name.clone(),
        uid: node.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }];
    lease
}
