//! Rolls out a Deployment by creating ReplicaSets and scaling them.
//!
//! Watches Deployments and their ReplicaSets. Of pods only deletions matter, and only for `Recreate`, where old pods
//! must be gone before new ones are created. A pass takes one step and waits for the resulting change. In Kubernetes:
//! `pkg/controller/deployment`. Unlike Kubernetes: the annotation `deprecated.deployment.rollback.rollback-to` is
//! ignored; nothing writes it since `extensions/v1beta1` was removed.

mod conditions;
mod decide;
mod revision;
mod rolling;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::apps_v1::{Deployment, ReplicaSet};
use coracle_api::core_v1::Pod;
use coracle_api::meta_v1;
use coracle_client::{DeleteParams, Error};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
    ownership,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use futures_util::future::BoxFuture;

use self::conditions::{PROGRESSING, condition, progress_deadline};
use self::decide::{ObservedDeployment, SetWrite};
use self::revision::{is_for, size};
use crate::Config;
use crate::again::again;
use crate::conditions::append;
use crate::index::{candidates_of, controlled_by, index_by_controller};
use crate::selecting::Selecting;

/// The strategy that creates new pods when no old one is left.
const RECREATE: &str = "Recreate";

/// The Deployment controller.
pub(crate) fn deployments(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let deployments = process.informers.informer::<Deployment>();
    let sets = process.informers.informer::<ReplicaSet>();
    let pods = process.informers.informer::<Pod>();
    index_by_controller(&sets);
    index_by_controller(&pods);
    let reconciler = Deployments {
        deployments: deployments.lister(),
        sets: sets.lister(),
        pods: pods.lister(),
        events: EventRecorder::new(process, "deployment-controller"),
        clock: process.ambient.clock.clone(),
    };
    let selecting = Selecting::of(&deployments, &process.actor("deployment"), |deployment| {
        Some(selector(deployment)).filter(|selector| !selector.is_everything()).unwrap_or_else(LabelSelector::nothing)
    });
    let (set_lister, by_pod) = (sets.lister(), deployments.lister());
    let controller = Controller::new(process, "deployment", reconciler)
        .client(config.client(process))
        .watches(&deployments, key_of)
        .watches(&sets, move |notification| selecting.concerned_by(notification, Deployment::KIND))
        .watches(&pods, move |notification| recreated_by(notification, &set_lister, &by_pod))
        .workers(5)
        .max_retries(15);
    Box::pin(controller.run())
}

/// The Deployment that may have waited for the deletion of a pod.
fn recreated_by(
    notification: &Notification<Pod>,
    sets: &Lister<ReplicaSet>,
    deployments: &Lister<Deployment>,
) -> Vec<ObjectKey> {
    if !matches!(notification, Notification::Deleted { .. }) {
        return Vec::new();
    }
    let set = controllers_of(notification, ReplicaSet::KIND).first().and_then(|key| sets.get(key));
    let owner = set.as_ref().and_then(|set| set.metadata.controller().cloned());
    let key = owner.zip(set).map(|(owner, set)| ObjectKey::new(set.key().namespace, owner.name));
    let deployment = key.and_then(|key| deployments.get(&key));
    deployment.filter(|deployment| deployment.spec.strategy.type_ == RECREATE).iter().map(|one| one.key()).collect()
}

fn selector(deployment: &Deployment) -> LabelSelector {
    meta_v1::LabelSelector::of_object(deployment.spec.selector.as_deref())
}

struct Deployments {
    deployments: Lister<Deployment>,
    sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for Deployments {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(deployment) = self.deployments.get(key) else { return pass.gone() };
        let selector = selector(&deployment);
        if selector.is_everything() {
            return self.refuse(pass, &deployment).await;
        }
        let candidates = candidates_of(&self.sets, deployment.as_ref());
        let sets = ownership::claim(pass, deployment.as_ref(), &selector, candidates).await?;
        let pods_of =
            |set: &Arc<ReplicaSet>| controlled_by(&self.pods, set.metadata.uid.as_deref().unwrap_or_default());
        let recreates = deployment.spec.strategy.type_ == RECREATE;
        let pods = sets.iter().filter(|_| recreates).flat_map(pods_of).collect();
        let observed = ObservedDeployment { deployment: deployment.clone(), sets, pods };
        let plan = decide::plan(&observed, self.clock.now());
        pass.decided(|| plan.sentence(&observed));
        for write in plan.sets {
            self.write(pass, &deployment, write).await?;
        }
        if let Some(deployment) = plan.status {
            pass.api::<Deployment>().update_status(&deployment).await?;
        }
        Ok(again(plan.again))
    }
}

impl Deployments {
    async fn write(&self, pass: &Pass, deployment: &Deployment, write: SetWrite) -> Result<(), ReconcileError> {
        let sets = pass.api::<ReplicaSet>();
        match write {
            SetWrite::Create(set) => match sets.create(&set).await {
                Ok(created) => {
                    self.scaled(pass, deployment, &created, 0);
                    Ok(())
                }
                Err(error) => self.not_created(pass, deployment, &set, error).await,
            },
            SetWrite::Update { set, from } => {
                let updated = sets.update(&set).await?;
                self.scaled(pass, deployment, &updated, from);
                Ok(())
            }
            SetWrite::Delete(key) => {
                pass.delete_if_there::<ReplicaSet>(&key, &DeleteParams::default()).await?;
                Ok(())
            }
        }
    }

    fn scaled(&self, pass: &Pass, deployment: &Deployment, set: &ReplicaSet, from: i32) {
        let to = size(set);
        if from != to {
            let direction = if from < to { "up" } else { "down" };
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let message = format!("Scaled {direction} replica set {name} from {from} to {to}");
            self.events.in_pass(pass).event(deployment, EventType::Normal, "ScalingReplicaSet", message);
        }
    }

    /// A set of that name exists already: it is ours after all, or foreign, and then the collision count is
    /// increased.
    async fn not_created(
        &self,
        pass: &Pass,
        deployment: &Deployment,
        set_: &ReplicaSet,
        error: Error,
    ) -> Result<(), ReconcileError> {
        let mut changed = deployment.clone();
        if error.is_already_exists() {
            let existing = pass.api::<ReplicaSet>().get(&set_.key()).await?;
            if is_for(&existing, deployment) {
                return Ok(());
            }
            changed.status.collision_count = Some(deployment.status.collision_count.unwrap_or(0).saturating_add(1));
            pass.api::<Deployment>().update_status(&changed).await?;
        } else if !error.is_namespace_terminating() {
            let name = set_.metadata.name.as_deref().unwrap_or_default();
            let message = format!("Failed to create new replica set {name:?}: {error}");
            self.events.in_pass(pass).event(deployment, EventType::Warning, "ReplicaSetCreateError", message.as_str());
            if progress_deadline(deployment).is_some() {
                let failed = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, self.clock.now());
                append(&mut changed.status.conditions, failed);
                pass.api::<Deployment>().update_status(&changed).await?;
            }
        }
        Err(error.into())
    }

    /// A selector that selects everything would adopt all pods of the namespace.
    async fn refuse(&self, pass: &Pass, deployment: &Deployment) -> Result<Action, ReconcileError> {
        pass.decided(|| "it selects all pods: refuse it");
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        self.events.in_pass(pass).event(deployment, EventType::Warning, "SelectingAll", message);
        let generation = deployment.metadata.generation.unwrap_or(0);
        if deployment.status.observed_generation < generation {
            let mut observed = deployment.clone();
            observed.status.observed_generation = generation;
            pass.api::<Deployment>().update_status(&observed).await?;
        }
        Ok(Action::Done)
    }
}
