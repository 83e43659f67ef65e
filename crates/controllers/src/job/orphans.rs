//! Removes the finalizer of pods that no Job will count, so that they can be deleted.
//!
//! Watches pods with the finalizer that have no controller, or whose Job has finished or is gone; and Jobs that
//! finish or are deleted.
//! In Kubernetes: the orphan queue of `pkg/controller/job`.

use std::sync::Arc;

use coracle_api::batch_v1::Job;
use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification, SharedInformer};
use coracle_meta::{ObjectKey, Resource};

use super::conditions::is_finished;
use super::pod::{has_finalizer, is_managed_elsewhere};
use super::release::{release, retries};
use crate::Config;
use crate::index::controlled_by;

/// The controller of these pods.
pub(super) fn controller(
    process: &Process,
    config: &Config,
    jobs: &SharedInformer<Job>,
    pods: &SharedInformer<Pod>,
) -> Controller<Orphans> {
    let (by_pod, by_job) = (jobs.lister(), pods.lister());
    let queue = process.queue("job-orphans", retries());
    let orphans = Orphans { jobs: jobs.lister(), pods: pods.lister() };
    Controller::on_queue(process, "job-orphans", queue, orphans)
        .client(config.client(process))
        .watches(pods, move |notification| left_alone(notification, &by_pod))
        .watches(jobs, move |notification| left_by(notification, &by_job))
        .workers(5)
}

fn left_alone(notification: &Notification<Pod>, jobs: &Lister<Job>) -> Vec<ObjectKey> {
    let pod = match notification {
        Notification::Added { object, .. } | Notification::Updated { new: object, .. } => object,
        Notification::Deleted { .. } => return Vec::new(),
    };
    let concerned = has_finalizer(pod)
        && match pod.controller() {
            None => true,
            Some(_) => pod.is_terminating() && counted_by(pod, jobs).is_none_or(|job| is_finished(&job)),
        };
    if concerned { vec![pod.key()] } else { Vec::new() }
}

fn left_by(notification: &Notification<Job>, pods: &Lister<Pod>) -> Vec<ObjectKey> {
    let job = notification.object();
    let concerned = match notification {
        Notification::Added { .. } => false,
        Notification::Updated { .. } => is_finished(job),
        Notification::Deleted { .. } => true,
    };
    if !concerned {
        return Vec::new();
    }
    let pods = controlled_by(pods, job.metadata.uid.as_deref().unwrap_or_default());
    pods.iter().filter(|pod| has_finalizer(pod)).map(|pod| pod.key()).collect()
}

/// The Job that controls a pod, if it exists.
fn counted_by(pod: &Pod, jobs: &Lister<Job>) -> Option<Arc<Job>> {
    let owner = pod.controller()?;
    let job = jobs.get(&ObjectKey::new(pod.key().namespace, owner.name.as_str()))?;
    (job.metadata.uid.as_ref() == Some(&owner.uid)).then_some(job)
}

pub(super) struct Orphans {
    jobs: Lister<Job>,
    pods: Lister<Pod>,
}

impl Reconciler for Orphans {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key).filter(|pod| has_finalizer(pod)) else {
            return pass.done(|| "nothing holds it, or it is not there: nothing to do");
        };
        let is_alone = match pod.controller() {
            None => true,
            Some(owner) if owner.kind != Job::KIND || owner.api_version != Job::api_version() => false,
            Some(_) => counted_by(&pod, &self.jobs).is_none_or(|job| !is_managed_elsewhere(&job) && is_finished(&job)),
        };
        if is_alone {
            pass.decided(|| "no Job counts it any more: let it go");
            release(pass, &pod).await?;
        }
        Ok(Action::Done)
    }
}
