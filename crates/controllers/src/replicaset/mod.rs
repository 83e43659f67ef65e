//! Keeps as many pods of a ReplicaSet or ReplicationController as it asks for.
//!
//! Watches the sets and the pods: a pod concerns its controller, before and after a change; one without a controller
//! concerns the sets that it matches, when it appears and when its labels or owners change.
//! [`decide`](decide::plan) says how many pods to make or which to remove; the rest here carries that out.
//! In Kubernetes: `pkg/controller/replicaset`, which serves both kinds as well.

mod decide;
mod kinds;
mod victims;

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::{Pod, ReplicationController};
use coracle_client::{DeleteParams, Error};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
    ownership, slow_start,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use futures_util::future::{BoxFuture, join_all};

use self::decide::{Observed, Plan, SetStatus};
use self::kinds::ReplicaOwner;
use crate::Config;
use crate::index::{candidates_of, controlled_by, index_by_controller};
use crate::pods::new_pod;

/// The controller of ReplicaSets.
pub(crate) fn replica_sets(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    controller::<ReplicaSet>(process, config, "replicaset")
}

/// The controller of ReplicationControllers.
pub(crate) fn replication_controllers(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    controller::<ReplicationController>(process, config, "replicationcontroller")
}

fn controller<K: ReplicaOwner>(process: &Process, config: &Config, name: &str) -> BoxFuture<'static, ()> {
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
    let lister = sets.lister();
    let controller = Controller::new(process, name, replicas)
        .client(config.client(process))
        .watches(&sets, key_of)
        .watches(&pods, move |notification| sets_of(notification, &lister))
        .workers(5);
    Box::pin(controller.run())
}

/// The sets that a change of a pod concerns.
fn sets_of<K: ReplicaOwner>(notification: &Notification<Pod>, sets: &Lister<K>) -> Vec<ObjectKey> {
    let pod = notification.object();
    let concerned = controllers_of(notification, K::KIND);
    if !concerned.is_empty() || pod.controller().is_some() {
        return concerned;
    }
    let matters = match notification {
        Notification::Added { .. } => true,
        Notification::Updated { old, new } => {
            old.metadata.labels != new.metadata.labels || old.controller() != new.controller()
        }
        Notification::Deleted { .. } => false,
    };
    if !matters {
        return Vec::new();
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let sets = sets.list_namespace(namespace);
    sets.iter().filter(|set| set.selector().matches(&pod.metadata.labels)).map(|set| set.key()).collect()
}

struct Replicas<K> {
    sets: Lister<K>,
    pods: Lister<Pod>,
    events: EventRecorder,
    clock: Clock,
}

impl<K: ReplicaOwner> Reconciler for Replicas<K> {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(set) = self.sets.get(key) else { return Ok(Action::Done) };
        let set = set.as_ref();
        let observed = self.observe(pass, set).await?;
        let now = self.clock.now();
        let failure = match decide::plan(&observed, now) {
            Plan::Keep => None,
            Plan::Create(count) => self.create(pass, set, count).await,
            Plan::Delete(victims) => self.delete(pass, set, &victims).await,
        };
        let message = failure.as_ref().map(ToString::to_string);
        let status = decide::status(&observed, &set.status().conditions, message.as_deref(), now);
        write_status(pass, set, status).await?;
        match failure {
            Some(error) => Err(error),
            None => Ok(match decide::next_available(&observed, now) {
                Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
                None => Action::Done,
            }),
        }
    }
}

impl<K: ReplicaOwner> Replicas<K> {
    /// Claims the pods that belong to the set; those that have finished or are being deleted are left as they are.
    async fn observe(&self, pass: &Pass, set: &K) -> Result<Observed, ReconcileError> {
        let selector = set.selector();
        let candidates = candidates_of(&self.pods, set);
        let is_mine = |pod: &Pod| pod.controller().map(|owner| &owner.uid) == set.meta().uid.as_ref();
        let terminating = candidates.iter().filter(|pod| {
            pod.is_terminating() && !pod.is_finished() && is_mine(pod) && selector.matches(&pod.metadata.labels)
        });
        let terminating = terminating.count();
        let active = candidates.into_iter().filter(|pod| pod.is_active()).collect();
        let pods = ownership::claim(pass, set, &selector, active).await?;
        let template_labels = set.template().map(|template| &template.metadata.labels);
        Ok(Observed {
            replicas: set.replicas(),
            min_ready_seconds: set.min_ready_seconds(),
            template_labels: template_labels.map_or_else(LabelSelector::nothing, LabelSelector::of_labels),
            generation: set.meta().generation.unwrap_or(0),
            deleting: set.meta().is_terminating(),
            pods,
            terminating,
            related: self.related(set),
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

    /// Makes pods, gently at first; gives the first error.
    async fn create(&self, pass: &Pass, set: &K, count: usize) -> Option<ReconcileError> {
        let template = set.template()?;
        let pod = match new_pod(set, template) {
            Ok(pod) => pod,
            Err(error) => return Some(error),
        };
        let events = self.events.in_pass(pass);
        let api = pass.api::<Pod>();
        let create = async |_| match api.create(&pod).await {
            Ok(created) => {
                events.event(set, EventType::Normal, "SuccessfulCreate", format!("Created pod: {}", created.name()));
                Ok(())
            }
            // Nothing can be made in a namespace that goes away, so that trying again is no use.
            Err(error) if error.is_namespace_terminating() => Ok(()),
            Err(error) => {
                events.event(set, EventType::Warning, "FailedCreate", format!("Error creating: {error}"));
                Err(error)
            }
        };
        slow_start(count, create).await.1.map(ReconcileError::from)
    }

    /// Removes pods, all at once; gives the first error.
    async fn delete(&self, pass: &Pass, set: &K, victims: &[Arc<Pod>]) -> Option<ReconcileError> {
        let events = self.events.in_pass(pass);
        let api = pass.api::<Pod>();
        let delete = async |pod: &Arc<Pod>| match api.delete(&pod.key(), &DeleteParams::default()).await {
            Ok(_) => {
                events.event(set, EventType::Normal, "SuccessfulDelete", format!("Deleted pod: {}", pod.name()));
                None
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                events.event(set, EventType::Warning, "FailedDelete", format!("Error deleting: {error}"));
                Some(error)
            }
        };
        let errors: Vec<Option<Error>> = join_all(victims.iter().map(delete)).await;
        errors.into_iter().flatten().next().map(ReconcileError::from)
    }
}

/// Writes the status if it differs; a set that changed meanwhile is read again, once.
async fn write_status<K: ReplicaOwner>(pass: &Pass, set: &K, status: SetStatus) -> Result<(), ReconcileError> {
    if set.status() == set.with_status(status.clone()).status() {
        return Ok(());
    }
    let api = pass.api::<K>();
    match api.update_status(&set.with_status(status.clone())).await {
        Err(error) if error.is_conflict() => {
            let fresh = api.get(&set.key()).await?;
            api.update_status(&fresh.with_status(status)).await?;
        }
        written => {
            written?;
        }
    }
    Ok(())
}
