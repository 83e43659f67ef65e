use coracle_ambient::Clock;
use coracle_api::core_v1::Node;
use coracle_client::{Api, Error, Patch};
use coracle_controller_runtime::EventType;
use coracle_kubelet_api::is_simulated;
use coracle_meta::ObjectKey;

use crate::Config;
use crate::node::agent::Agent;
use crate::node::node_status::{lacks, node, serve_at};

/// The result of an attempt to register a node.
pub(crate) enum Registered {
    /// The Node exists and belongs to this agent.
    As(Box<Node>),
    /// A Node of this name belongs to another kubelet.
    Taken,
}

/// Creates the Node of an agent, or finds the one that it created before.
///
/// # Errors
/// The error of the API server; the caller retries.
pub(crate) async fn register(agent: &Agent, config: &Config, clock: &Clock) -> Result<Registered, Error> {
    let nodes: Api<Node> = Api::of(&agent.speaker.client);
    let key = ObjectKey::cluster(&*agent.name);
    let version = config.release.git_version();
    let mut object = node(&agent.spec, &agent.machine.address, agent.machine.power_cuts(), version, clock.now());
    if let Some(endpoint) = config.endpoint {
        serve_at(&mut object, endpoint);
    }
    // Stages set the status of the Node, also if a user created it.
    let by_stages = config.has_stages_for("Node");
    if by_stages {
        object.status.conditions.clear();
    }
    let mut found = match nodes.create(&object).await {
        Err(error) if error.is_already_exists() => nodes.get(&key).await?,
        created => return Ok(Registered::As(Box::new(created?))),
    };
    if is_simulated(&found) {
        let booted = &object.status.node_info.boot_id;
        let has_rebooted = !found.status.node_info.boot_id.is_empty() && found.status.node_info.boot_id != *booted;
        let (labels, status) = lacks(&found, &object);
        if let Some(labels) = labels {
            found = nodes.patch(&key, &Patch::Strategic(labels)).await?;
        }
        if let Some(status) = status.filter(|_| !by_stages) {
            found = nodes.patch_status(&key, &Patch::Strategic(status)).await?;
        }
        if has_rebooted {
            let message = format!("Node {} has been rebooted, boot id: {booted}", agent.name);
            agent.events.event_on(agent.reference(&found), EventType::Warning, "Rebooted", message);
        }
        return Ok(Registered::As(Box::new(found)));
    }
    tracing::warn!(node = %key, "a Node of this name exists and was not registered by a simulated node");
    Ok(Registered::Taken)
}
