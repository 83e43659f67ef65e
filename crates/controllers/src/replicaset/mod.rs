//! Keeps the desired number of pods of a ReplicaSet or ReplicationController.
//!
//! Watches the sets and the pods. A pod concerns its controller, before and after a change. A pod without a
//! controller concerns the sets that match it, when it is added and when its labels or owners change.
//! [`decide`](decide::plan) decides how many pods to create or which to delete; this module carries that out. In
//! Kubernetes: `pkg/controller/replicaset`, which also serves both kinds.

mod decide;
mod kinds;
mod victims;

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::{Pod, ReplicationController};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, Pass, Process, ReconcileError, Reconciler, StaleCaches, key_of, ownership,
};
use coracle_informer::Lister;
use coracle_meta::{LabelSelector, ObjectKey};
use futures_util::future::BoxFuture;

use self::decide::{ObservedReplicaSet, Plan};
use self::kinds::ReplicaOwner;
use crate::Config;
use crate::again::again;
use crate::gathering::gathered;
use crate::index::{candidates_of, controlled_by, index_by_controller};
use crate::pod_control::PodControl;
use crate::pods::new_pod;
use crate::selecting::Selecting;
use crate::stale_pods::{expect_pods, wait_or_expect_pods};

/// The ReplicaSet controller.
pub(crate) fn replica_sets(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let stale_caches = wait_or_expect_pods(&config.release, "StaleControllerConsistencyReplicaSet");
    controller::<ReplicaSet>(process, config, "replicaset", stale_caches)
}

/// The ReplicationController controller.
pub(crate) fn replication_controllers(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    controller::<ReplicationController>(process, config, "replicationcontroller", expect_pods())
}

fn controller<K: ReplicaOwner>(
    process: &Process,
    config: &Config,
    name: &str,
    stale_caches: StaleCaches,
) -> BoxFuture<'static, ()> {
    let sets = process.informers.informer::<K>();
    let pods = process.informers.informer::<Pod>();
    index_by_controller(&sets);
    index_by_controller(&pods);
    let replicas = Replicas {
        sets: sets.lister(),
        pods: pods.lister(),
        events: EventRecorder::new(process, K::COMPONENT),
        clock: process.ambient.clock.clone(),
    };
    let selecting = Selecting::of(&sets, &process.actor(name), K::selector);
    let sizes = sets.lister();
    let controller = Controller::new(process, name, replicas)
        .client(config.client(process))
        .stale_caches(stale_caches)
        .watches(&sets, key_of)
        .watches_by(
            &pods,
            move |notification| selecting.concerned_by(notification, K::KIND),
            move |_, key| sizes.get(key).map_or(Duration::ZERO, |set| gathered(size(set.as_ref()))),
        )
        .workers(5);
    Box::pin(controller.run())
}

/// The larger of the actual and the desired number of pods.
fn size(set: &impl ReplicaOwner) -> usize {
    usize::try_from(set.replicas().max(set.status().replicas)).unwrap_or(0)
}

struct Replicas<K> {
    sets: Lister<K>,
    pods: Lister<Pod>,
    events: EventRecorder,
    clock: Clock,
}

impl<K: ReplicaOwner> Reconciler for Replicas<K> {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(set) = self.sets.get(key) else { return pass.gone() };
        let set = set.as_ref();
        let observed = self.observe(pass, set).await?;
        let now = self.clock.now();
        let pods = PodControl::new(pass, &self.events, set);
        let plan = decide::plan(&observed, now);
        pass.decided(|| decide::sentence(&observed, &plan));
        let failure = match plan {
            Plan::Keep => None,
            Plan::Create(count) => match new_pod(set, &set.template().cloned().unwrap_or_default()) {
                Ok(pod) => pods.create_many(count, |_| &pod).await.1.map(ReconcileError::from),
                Err(error) => Some(error),
            },
            Plan::Delete(victims) => pods.delete_many(&victims).await.map(ReconcileError::from),
        };
        let message = failure.as_ref().map(ToString::to_string);
        let status = decide::status(&observed, &set.status().conditions, message.as_deref(), now);
        pass.update_status(set, |set| set.set_status(status.clone())).await?;
        match failure {
            Some(error) => Err(error),
            None => Ok(again(decide::next_available(&observed, now))),
        }
    }
}

impl<K: ReplicaOwner> Replicas<K> {
    /// Claims the pods that belong to the set; finished pods, and those being deleted, are left as they are.
    async fn observe(&self, pass: &Pass, set: &K) -> Result<ObservedReplicaSet, ReconcileError> {
        let selector = set.selector();
        let candidates = candidates_of(&self.pods, set);
        let is_mine = |pod: &Pod| pod.controller().map(|owner| &owner.uid) == set.meta().uid.as_ref();
        let terminating = candidates.iter().filter(|pod| {
            pod.is_terminating() && !pod.is_finished() && is_mine(pod) && selector.matches(&pod.metadata.labels)
        });
        let terminating = terminating.count();
        let active = candidates.into_iter().filter(|pod| pod.is_active()).collect();
        let pods = ownership::claim(pass, set, &selector, active).await?;
        let too_many = pods.len() > usize::try_from(set.replicas()).unwrap_or(0);
        let template_labels = set.template().map(|template| &template.metadata.labels);
        Ok(ObservedReplicaSet {
            replicas: set.replicas(),
            min_ready_seconds: set.min_ready_seconds(),
            template_labels: template_labels.map_or_else(LabelSelector::nothing, LabelSelector::of_labels),
            generation: set.meta().generation.unwrap_or(0),
            deleting: set.meta().is_terminating(),
            shows_own_writes: pass.shows_own_writes(),
            pods,
            terminating,
            related: if too_many { self.related(set) } else { Vec::new() },
        })
    }

    /// The active pods of all sets with the same controller as this one.
    fn related(&self, set: &K) -> Vec<Arc<Pod>> {
        let Some(controller) = set.meta().controller() else { return Vec::new() };
        let pods_of = |sibling: &Arc<K>| {
            let selector = sibling.selector();
            let pods = controlled_by(&self.pods, sibling.meta().uid.as_deref().unwrap_or_default());
            pods.into_iter().filter(move |pod| pod.is_active() && selector.matches(&pod.metadata.labels))
        };
        controlled_by(&self.sets, &controller.uid).iter().flat_map(pods_of).collect()
    }
}
