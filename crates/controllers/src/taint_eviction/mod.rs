//! Evicts pods from nodes with a `NoExecute` taint that they do not tolerate, at once or after their toleration time.
//!
//! Watches pods (when they are added, scheduled, or their tolerations change) and nodes (when their `NoExecute`
//! taints change).
//! In Kubernetes: `pkg/controller/tainteviction`.

mod decide;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{Node, ObjectReference, Pod, PodCondition, Taint};
use coracle_client::{DeleteParams, Patch};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, format_time};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use self::decide::{TaintDecision, Timer, decide};
use crate::Config;
use crate::index::{index_by_node, on_node};

/// The taint eviction controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let nodes = process.informers.informer::<Node>();
    let pods = process.informers.informer::<Pod>();
    index_by_node(&pods);
    let timers = Arc::new(Timers::default());
    let evictor = TaintEviction {
        nodes: nodes.lister(),
        pods: pods.lister(),
        events: EventRecorder::new(process, "taint-eviction-controller"),
        clock: process.ambient.clock.clone(),
        timers: Arc::clone(&timers),
    };
    let (lister, known) = (pods.lister(), nodes.lister());
    let controller = Controller::new(process, "taint-eviction", evictor)
        .client(config.client(process))
        .watches(&pods, move |notification| of_pod(notification, &known, &timers))
        .watches(&nodes, move |notification| of_node(notification, &lister))
        .workers(8);
    Box::pin(controller.run())
}

/// The pod, if its node has taints that evict pods, or if an eviction was scheduled. Later taints queue it through
/// its node.
fn of_pod(notification: &Notification<Pod>, nodes: &Lister<Node>, timers: &Timers) -> Vec<ObjectKey> {
    let same =
        |old: &Pod, new: &Pod| old.spec.tolerations == new.spec.tolerations && old.spec.node_name == new.spec.node_name;
    let pod = notification.object();
    let stays = match notification {
        Notification::Updated { old, new } if same(old, new) => return Vec::new(),
        Notification::Added { .. } | Notification::Updated { .. } => true,
        Notification::Deleted { .. } => false,
    };
    let node = pod.node_name().filter(|_| stays).and_then(|name| nodes.get(&ObjectKey::cluster(name)));
    let key = pod.key();
    let concerned = node.is_some_and(|node| !no_execute(&node).is_empty()) || timers.lock().contains_key(&key);
    concerned.then_some(key).into_iter().collect()
}

/// The scheduled evictions.
type Timers = Mutex<BTreeMap<ObjectKey, Timer>>;

fn of_node(notification: &Notification<Node>, pods: &Lister<Pod>) -> Vec<ObjectKey> {
    let node = notification.object();
    let concerned = match notification {
        Notification::Added { .. } => !no_execute(node).is_empty(),
        Notification::Updated { old, new } => no_execute(old) != no_execute(new),
        // Pods of a deleted node are not evicted here.
        Notification::Deleted { .. } => false,
    };
    if !concerned {
        return Vec::new();
    }
    on_node(pods, &node.key().name).iter().map(|pod| pod.key()).collect()
}

fn no_execute(node: &Node) -> Vec<Taint> {
    node.spec.taints.iter().filter(|taint| taint.effect == "NoExecute").cloned().collect()
}

struct TaintEviction {
    nodes: Lister<Node>,
    pods: Lister<Pod>,
    events: EventRecorder,
    clock: Clock,
    timers: Arc<Timers>,
}

impl Reconciler for TaintEviction {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key) else {
            self.cancel(pass, key);
            return pass.gone();
        };
        let Some(node) = pod.node_name().and_then(|name| self.nodes.get(&ObjectKey::cluster(name))) else {
            return pass.done(|| "it is on no node that is there: nothing to do");
        };
        let now = self.clock.now();
        let timer = self.timers.lock().get(key).copied();
        let decision = decide(&pod.spec.tolerations, &no_execute(&node), timer, now);
        pass.decided(|| decision.sentence());
        match decision {
            TaintDecision::Done => Ok(Action::Done),
            TaintDecision::Stay => {
                self.cancel(pass, key);
                Ok(Action::Done)
            }
            TaintDecision::StayUntil(at) => {
                self.timers.lock().insert(key.clone(), Timer::Running(at));
                Ok(Action::RequeueAfter(Duration::try_from(at.duration_since(now)).unwrap_or_default()))
            }
            TaintDecision::Leave => {
                if matches!(timer, Some(Timer::Running(at)) if at > now) {
                    self.cancel(pass, key);
                }
                self.evict(pass, key, &pod).await?;
                self.timers.lock().insert(key.clone(), Timer::Fired);
                Ok(Action::Done)
            }
        }
    }
}

impl TaintEviction {
    fn cancel(&self, pass: &Pass, key: &ObjectKey) {
        let cancelled = self.timers.lock().remove(key);
        if matches!(cancelled, Some(Timer::Running(_))) {
            self.tell(pass, key, format!("Cancelling deletion of Pod {key}"));
        }
    }

    async fn evict(&self, pass: &Pass, key: &ObjectKey, pod: &Pod) -> Result<(), ReconcileError> {
        self.tell(pass, key, format!("Marking for deletion Pod {key}"));
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "DeletionByTaintManager".to_owned(),
            message: "Taint manager: deleting due to NoExecute taint".to_owned(),
            observed_generation: pod.metadata.generation.unwrap_or(0),
            last_transition_time: Some(format_time(self.clock.now())),
            ..PodCondition::default()
        };
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}});
        let api = pass.api::<Pod>();
        match api.patch_status(key, &Patch::Strategic(patch)).await {
            Err(error) if error.is_not_found() => return Ok(()),
            written => written?,
        };
        match api.delete(key, &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The reference has no uid, as in Kubernetes.
    fn tell(&self, pass: &Pass, key: &ObjectKey, message: String) {
        let pod = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: key.name.clone(),
            namespace: key.namespace.clone(),
            ..ObjectReference::default()
        };
        self.events.in_pass(pass).event_on(pod, EventType::Normal, "TaintManagerEviction", message);
    }
}
