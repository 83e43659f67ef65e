//! Reports nodes whose kubelets are unreachable, and keeps pods off unhealthy nodes.
//!
//! ```text
//! a Node changes ----> taints NoSchedule that follow from its conditions, old names of labels     (TaintNodes)
//! ticks of 5 s -------> silent? conditions Unknown, pods not ready; taint NoExecute, by zone        (Monitor)
//! a pod gets a node -> if that is not ready, neither is the pod                                     (MarkPods)
//! ```
//! In Kubernetes: `pkg/controller/nodelifecycle`. Which pods must leave a tainted node is decided in
//! `taint_eviction`.

mod decide;
mod lease_check;
mod monitor;
mod signs;
mod ticks;
mod zones;

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Node, Pod, PodCondition, Taint};
use coracle_client::{Api, Patch};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, format_time};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use self::decide::Health;
use self::lease_check::LeaseCheck;
use self::monitor::Monitor;
use self::signs::Signs;
use crate::Config;
use crate::index::index_by_node;

/// The node lifecycle controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let nodes = process.informers.informer::<Node>();
    let pods = process.informers.informer::<Pod>();
    let leases = process.informers.informer::<Lease>();
    index_by_node(&pods);
    let clock = process.ambient.clock.clone();
    let events = EventRecorder::new(process, "node-controller");
    let health = Arc::new(HealthMap::default());
    let taints = Controller::new(process, "node-lifecycle", TaintNodes { nodes: nodes.lister(), clock: clock.clone() })
        .client(config.client(process))
        .watches(&nodes, key_of)
        .workers(8);
    let mark = MarkPods {
        pods: pods.lister(),
        nodes: nodes.lister(),
        health: health.clone(),
        events: events.clone(),
        clock: clock.clone(),
    };
    let mark = Controller::new(process, "node-lifecycle-pods", mark)
        .client(config.client(process))
        .watches(&pods, newly_bound)
        .reads(&nodes)
        .workers(4);
    let signs = Signs::listen(taints.actor(), &nodes, &leases, clock.clone());
    let checks_leases = config.release.enabled("NodeControllerLeaseCircuitBreaker");
    let monitor = Monitor {
        actor: taints.actor().to_owned(),
        client: config.client(process),
        config: config.clone(),
        nodes: nodes.lister(),
        pods: pods.lister(),
        leases: leases.lister(),
        lease_check: checks_leases.then(|| LeaseCheck::new(leases.any().clone())),
        health,
        signs,
        events,
        clock,
    };
    let synced = async move {
        tokio::join!(biased; nodes.synced(), pods.synced(), leases.synced());
        monitor.run().await;
    };
    Box::pin(async move {
        tokio::join!(biased; taints.run(), mark.run(), synced);
    })
}

/// The health of each node, by name.
type HealthMap = Mutex<BTreeMap<String, Health>>;

struct TaintNodes {
    nodes: Lister<Node>,
    clock: Clock,
}

impl Reconciler for TaintNodes {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(node) = self.nodes.get(key) else { return pass.gone() };
        let api = pass.api::<Node>();
        if let Some(taints) = decide::no_schedule_taints(&node, self.clock.now()) {
            pass.decided(|| match taints.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>() {
                keys if keys.is_empty() => "nothing speaks against it: take its taints away".to_owned(),
                keys => format!("taint it with {}", keys.join(", ")),
            });
            patch_taints(&api, &node, &taints).await?;
        } else {
            pass.decided(|| "its taints are as they have to be");
        }
        let labels: BTreeMap<_, _> = decide::missing_labels(&node).into_iter().collect();
        if !labels.is_empty() {
            pass.decided(|| format!("label it with {}", labels.keys().cloned().collect::<Vec<_>>().join(", ")));
            api.patch(key, &Patch::Strategic(json!({"metadata": {"labels": labels}}))).await?;
        }
        Ok(Action::Done)
    }
}

/// Sets a node's taints, unless the node was changed since.
async fn patch_taints(api: &Api<Node>, node: &Node, taints: &[Taint]) -> Result<(), coracle_client::Error> {
    let version = &node.metadata.resource_version;
    // An empty list would be omitted from the patch; null removes the field.
    let taints = if taints.is_empty() { serde_json::Value::Null } else { json!(taints) };
    let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
    api.patch_unread(&node.key(), &Patch::Strategic(patch)).await
}

fn newly_bound(notification: &Notification<Pod>) -> Vec<ObjectKey> {
    let pod = notification.object();
    let bound = |pod: &Pod| pod.node_name().map(str::to_owned);
    let is_new = match notification {
        Notification::Added { .. } => pod.node_name().is_some(),
        Notification::Updated { old, new } => new.node_name().is_some() && bound(old) != bound(new),
        Notification::Deleted { .. } => false,
    };
    if is_new { vec![pod.key()] } else { Vec::new() }
}

struct MarkPods {
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    health: Arc<HealthMap>,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for MarkPods {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key) else { return pass.gone() };
        let node = pod.node_name().filter(|node| self.nodes.get(&ObjectKey::cluster(*node)).is_some());
        let Some(node) = node else { return pass.done(|| "it is on no node that is there: nothing to do") };
        let ready = self.health.lock().get(node).and_then(|health| health.ready.clone());
        if ready.is_none_or(|ready| ready == "True") {
            return pass.done(|| format!("nothing says that {node} is not ready: nothing to do"));
        }
        pass.decided(|| format!("{node} is not ready: nor is the pod"));
        mark_not_ready(&pass.api::<Pod>(), &pod, &self.events.in_pass(pass), self.clock.now()).await?;
        Ok(Action::Done)
    }
}

/// Sets a pod to not ready, because its node is not ready.
async fn mark_not_ready(
    api: &Api<Pod>,
    pod: &Pod,
    events: &EventRecorder,
    now: Timestamp,
) -> Result<(), coracle_client::Error> {
    let is_ready = |condition: &&mut PodCondition| condition.type_ == "Ready" && condition.status != "False";
    let mut changed = pod.clone();
    let Some(condition) = changed.status.conditions.iter_mut().find(is_ready) else { return Ok(()) };
    condition.status = "False".to_owned();
    condition.last_transition_time = Some(format_time(now));
    match api.update_status(&changed).await {
        Err(error) if error.is_not_found() => return Ok(()),
        written => written?,
    };
    events.event(pod, EventType::Warning, "NodeNotReady", "Node is not ready");
    Ok(())
}
