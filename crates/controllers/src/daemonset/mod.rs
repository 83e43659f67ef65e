//! Keeps one pod of a DaemonSet on each eligible node.
//!
//! Watches the sets, their pods and revisions, and nodes whose changes of labels or taints add or remove a pod. The
//! scheduler binds the pods: each has a node affinity for its target node. [`decide`](decide::plan) computes which
//! pods are missing and which must be deleted; this module carries that out. In Kubernetes: `pkg/controller/daemon`.

mod backoff;
mod decide;
mod history;
mod observed;
mod placement;
mod rolling;
mod status;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::apps_v1::{ControllerRevision, DaemonSet};
use coracle_api::core_v1::{Node, Pod};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, ownership,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use self::backoff::FailedPods;
use self::observed::ObservedDaemonSet;
use self::placement::{Placement, Placing};
use self::template::{daemon_pod, for_node};
use crate::Config;
use crate::again::again;
use crate::index::{candidates_of, index_by_controller, index_by_node, on_node};
use crate::pod_control::PodControl;
use crate::selecting::Selecting;
use crate::stale_pods::wait_or_expect_pods;

/// How many pods one sync creates or deletes at most. In Kubernetes: `BurstReplicas`.
const BURST: usize = 250;

/// The DaemonSet controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let sets = process.informers.informer::<DaemonSet>();
    let revisions = process.informers.informer::<ControllerRevision>();
    let pods = process.informers.informer::<Pod>();
    let nodes = process.informers.informer::<Node>();
    index_by_controller(&revisions);
    index_by_controller(&pods);
    index_by_node(&pods);
    let daemons = Daemons {
        sets: sets.lister(),
        revisions: revisions.lister(),
        pods: pods.lister(),
        nodes: nodes.lister(),
        events: EventRecorder::new(process, "daemonset-controller"),
        clock: process.ambient.clock.clone(),
        failed: Mutex::default(),
    };
    let selecting = Selecting::of(&sets, &process.actor("daemonset"), |set| {
        selector(set).ok().filter(|selector| !selector.is_everything()).unwrap_or_else(LabelSelector::nothing)
    });
    let of_revisions = selecting.clone();
    let (by_node, pods_by_node) = (sets.lister(), pods.lister());
    let controller = Controller::new(process, "daemonset", daemons)
        .client(config.client(process))
        .stale_caches(wait_or_expect_pods(&config.release, "StaleControllerConsistencyDaemonSet"))
        .watches(&sets, key_of)
        .watches(&revisions, move |notification| match notification {
            // The controller created it itself, and checked its owner then.
            Notification::Added { object, .. } if object.metadata.controller().is_some() => Vec::new(),
            _ => of_revisions.concerned_by(notification, DaemonSet::KIND),
        })
        .watches(&pods, move |notification| selecting.concerned_by(notification, DaemonSet::KIND))
        .watches(&nodes, move |notification| moved_by(notification, &by_node, &pods_by_node))
        .workers(2);
    Box::pin(controller.run())
}

/// The sets that should have a pod on the node and have none, or the reverse, and those that count a pod there as
/// misplaced, which may have changed. In Kubernetes: `syncNodeUpdate`.
fn moved_by(notification: &Notification<Node>, sets: &Lister<DaemonSet>, pods: &Lister<Pod>) -> Vec<ObjectKey> {
    let node = match notification {
        Notification::Added { object, .. } => object,
        Notification::Updated { old, new }
            if old.metadata.labels != new.metadata.labels || old.spec.taints != new.spec.taints =>
        {
            new
        }
        Notification::Updated { .. } | Notification::Deleted { .. } => return Vec::new(),
    };
    let there = on_node(pods, node.metadata.name.as_deref().unwrap_or_default());
    let has_pod_of =
        |set: &DaemonSet| there.iter().any(|pod| pod.controller().map(|owner| &owner.uid) == set.metadata.uid.as_ref());
    let concerned = |set: &Arc<DaemonSet>| match (Placing::of(set).on(node), has_pod_of(set)) {
        (Placement::Run, false) | (Placement::Leave, true) => true,
        (_, has_pod) => has_pod && set.status.number_misscheduled > 0,
    };
    sets.list().iter().filter(|set| concerned(set)).map(|set| set.key()).collect()
}

fn selector(set: &DaemonSet) -> Result<LabelSelector, ReconcileError> {
    let selector = set.spec.selector.as_deref().map_or(Ok(LabelSelector::nothing()), |selector| selector.to_selector());
    selector.map_err(|error| ReconcileError::Object(error.to_string()))
}

struct Daemons {
    sets: Lister<DaemonSet>,
    revisions: Lister<ControllerRevision>,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    events: EventRecorder,
    clock: Clock,
    failed: Mutex<FailedPods>,
}

impl Reconciler for Daemons {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(set) = self.sets.get(key) else { return pass.gone() };
        let selector = selector(&set)?;
        if selector.is_everything() {
            let message = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.events.in_pass(pass).event(set.as_ref(), EventType::Warning, "SelectingAll", message);
            return pass.done(|| "it selects all pods: refuse it");
        }
        // Its revisions may be deleted before its pods, so the status cannot be computed any more.
        if set.metadata.is_terminating() {
            return pass.done(|| "it is going: nothing to do");
        }
        let revisions = candidates_of(&self.revisions, set.as_ref());
        let revisions = ownership::claim(pass, set.as_ref(), &selector, revisions).await?;
        let pods = candidates_of(&self.pods, set.as_ref());
        let pods = ownership::claim(pass, set.as_ref(), &selector, pods).await?;
        let history = history::construct(pass, &set, revisions, &pods).await?;
        let now = self.clock.now();
        let observed = ObservedDaemonSet::new(set.clone(), history.hash, &self.nodes.list(), &pods, now);

        let mut counted = status::counted(&observed);
        if !pass.shows_own_writes() {
            pass.decided(|| "its own pods are expected: nothing");
            counted.observed_generation = set.status.observed_generation;
            pass.update_status(set.as_ref(), |set| status::put(&counted, &mut set.status)).await?;
            return Ok(Action::Done);
        }
        let plan = decide::plan(&observed, &mut |node| self.wait(&set, node));
        pass.decided(|| plan.sentence(&observed));
        let mut done = self.carry_out(pass, &observed, &plan).await;
        if done.is_ok() {
            done = history::clean_up(pass, &set, &history.old, &pods).await;
        }
        pass.update_status(set.as_ref(), |set| status::put(&counted, &mut set.status)).await?;
        done?;
        let waiting = observed.pods.values().flatten().filter_map(|pod| observed.availability(pod).left());
        Ok(again(waiting.chain(plan.again).min()))
    }
}

impl Daemons {
    fn wait(&self, set: &DaemonSet, node: &str) -> Option<jiff::SignedDuration> {
        let uid = set.metadata.uid.as_deref().unwrap_or_default();
        self.failed.lock().wait(uid, set.status.observed_generation, node, self.clock.now())
    }

    async fn carry_out(
        &self,
        pass: &Pass,
        observed: &ObservedDaemonSet,
        plan: &decide::Plan,
    ) -> Result<(), ReconcileError> {
        let set = observed.set.as_ref();
        for (event_type, reason, message) in &plan.events {
            self.events.in_pass(pass).event(set, *event_type, reason, message.as_str());
        }
        let control = PodControl::new(pass, &self.events, set);
        let mut failure = None;
        if !plan.create.is_empty() {
            let pod = daemon_pod(set, &observed.hash)?;
            let pods: Vec<_> = plan.create.iter().take(BURST).map(|node| for_node(&pod, node)).collect();
            failure = control.create_many(pods.len(), |index| &pods[index]).await.1;
        }
        let deleted = control.delete_many(&plan.delete[..plan.delete.len().min(BURST)]).await;
        failure.or(deleted).map_or(Ok(()), |error| Err(error.into()))
    }
}
