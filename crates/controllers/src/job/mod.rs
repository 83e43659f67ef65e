//! Runs the pods of a Job until enough of them have succeeded, or too many have failed.
//!
//! Watches Jobs and their pods. Pod changes are batched for a second, since pods tend to finish together. A pod has a
//! finalizer until it has been counted, so that none is missed ([`tracking`]); [`orphans`] removes the finalizer of
//! pods that no Job will count. [`decide`](decide::plan) decides which pods to create or delete, and how a Job ends;
//! this module carries that out. In Kubernetes: `pkg/controller/job`.

mod backoff;
mod conditions;
mod decide;
mod indexes;
mod orphans;
mod pod;
mod policy;
mod release;
mod released_pods;
mod template;
#[cfg(test)]
mod tests;
mod tracking;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::batch_v1::Job;
use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, ownership,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{LabelSelector, ObjectKey, Resource};
use coracle_release::Release;
use futures_util::future::{BoxFuture, join, join_all};
use parking_lot::Mutex;

use self::backoff::Failures;
pub(crate) use self::conditions::is_finished;
use self::decide::{Plan, Pods};
use self::pod::{FINALIZER, has_finalizer, is_managed_elsewhere, uid};
use self::release::release;
use self::released_pods::ReleasedPods;
use self::template::{job_pod, with_index};
use self::tracking::{Done, JobEvent, Tracking};
use self::view::JobView;
use crate::Config;
use crate::again::again;
use crate::index::{candidates_of, index_by_controller};
use crate::pod_control::PodControl;
use crate::selecting::Selecting;
use crate::stale_pods::wait_or_expect_pods;

/// How long pod changes are batched. In Kubernetes: `SyncJobBatchPeriod`.
const GATHERED: Duration = Duration::from_secs(1);

/// The Job controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let jobs = process.informers.informer::<Job>();
    let pods = process.informers.informer::<Pod>();
    index_by_controller(&pods);
    let reconciler = Jobs {
        jobs: jobs.lister(),
        pods: pods.lister(),
        events: EventRecorder::new(process, "job-controller"),
        clock: process.ambient.clock.clone(),
        failures: Mutex::default(),
        released: Mutex::default(),
        release: config.release.clone(),
    };
    let selecting =
        Selecting::of(&jobs, &process.actor("job"), |job| selector(job).unwrap_or_else(|_| LabelSelector::nothing()));
    let controller = Controller::on_queue(process, "job", process.queue("job", release::retries()), reconciler)
        .client(config.client(process))
        .stale_caches(wait_or_expect_pods(&config.release, "StaleControllerConsistencyJob"))
        .watches(&jobs, asked)
        .watches_after(GATHERED, &jobs, changed)
        .watches_after(GATHERED, &pods, move |notification| selecting.concerned_by(notification, Job::KIND))
        .workers(5);
    let orphans = orphans::controller(process, config, &jobs, &pods);
    Box::pin(async move {
        join(controller.run(), orphans.run()).await;
    })
}

/// Jobs whose spec changed.
fn asked(notification: &Notification<Job>) -> Vec<ObjectKey> {
    match notification {
        Notification::Updated { old, new }
            if is_finished(new) || old.metadata.generation == new.metadata.generation =>
        {
            Vec::new()
        }
        _ => key_of(notification),
    }
}

/// Jobs whose spec did not change.
fn changed(notification: &Notification<Job>) -> Vec<ObjectKey> {
    match notification {
        Notification::Updated { old, new }
            if !is_finished(new) && old.metadata.generation == new.metadata.generation =>
        {
            key_of(notification)
        }
        _ => Vec::new(),
    }
}

fn selector(job: &Job) -> Result<LabelSelector, ReconcileError> {
    let selector = job.spec.selector.as_deref().map_or(Ok(LabelSelector::nothing()), |selector| selector.to_selector());
    selector.map_err(|error| ReconcileError::Object(format!("couldn't convert Job selector: {error}")))
}

struct Jobs {
    jobs: Lister<Job>,
    pods: Lister<Pod>,
    events: EventRecorder,
    clock: Clock,
    /// The failures of each running Job, and the Job's uid.
    failures: Mutex<BTreeMap<ObjectKey, (Option<String>, Failures)>>,
    released: Mutex<ReleasedPods>,
    release: Release,
}

impl Reconciler for Jobs {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(job) = self.jobs.get(key).filter(|job| !is_finished(job)) else {
            self.failures.lock().remove(key);
            self.released.lock().forget(key);
            return pass.done(|| "it is finished, or not there: nothing to do");
        };
        if is_managed_elsewhere(&job) {
            return pass.done(|| "another controller manages it: nothing to do");
        }
        if !matches!(job.spec.completion_mode.as_deref(), None | Some("NonIndexed" | "Indexed")) {
            let message = "Skipped Job sync because completion mode is unknown";
            self.events.in_pass(pass).event(job.as_ref(), EventType::Warning, "UnknownCompletionMode", message);
            return pass.done(|| "its completion mode is unknown: nothing to do");
        }
        let pods = self.claim(pass, &job).await?;
        let view = JobView::of(job.clone(), pods, self.failures_of(&job), self.clock.now(), &self.release);
        let view = JobView { shows_own_writes: pass.shows_own_writes(), ..view };
        let plan = decide::plan(&view);
        pass.decided(|| plan.sentence(&view));
        let (done, failure) = self.carry_out(pass, &view, &plan).await;
        let (tracking, events) = Tracking::begin(&view, &plan, &done);
        self.record_events(pass, &job, &events);
        self.track(pass, &view, tracking).await?;
        match (failure, plan.again) {
            (Some(error), _) => Err(error),
            (None, left) => Ok(again(left)),
        }
    }
}

impl Jobs {
    async fn claim(&self, pass: &Pass, job: &Job) -> Result<Vec<Arc<Pod>>, ReconcileError> {
        let selector = selector(job)?;
        let terms = ownership::Terms { selector: &selector, accepts: &|_| true, finalizer: Some(FINALIZER) };
        let pods = ownership::claim_by(pass, job, &terms, candidates_of(&self.pods, job)).await?;
        // An adopted pod got the finalizer together with its owner; the cache does not show it yet.
        let with_finalizer = |pod: Arc<Pod>| match pod.controller() {
            None if !has_finalizer(&pod) => {
                let mut pod = Pod::clone(&pod);
                pod.metadata.finalizers.push(FINALIZER.to_owned());
                Arc::new(pod)
            }
            _ => pod,
        };
        let pods = pods.into_iter().map(with_finalizer).collect();
        Ok(self.released.lock().applied_to(&job.key(), pods))
    }

    fn failures_of(&self, job: &Job) -> Failures {
        let failures = self.failures.lock();
        let known = failures.get(&job.key()).filter(|(uid, _)| *uid == job.metadata.uid);
        known.map_or_else(Failures::default, |(_, failures)| *failures)
    }

    /// Creates and deletes pods; returns the result and the first error.
    async fn carry_out(&self, pass: &Pass, view: &JobView, plan: &Plan) -> (Done, Option<ReconcileError>) {
        let control = PodControl::new(pass, &self.events, view.job.as_ref());
        let mut done = Done::nothing(view);
        let mut failure = None;
        match &plan.pods {
            Pods::Leave | Pods::Keep => {}
            // During the back-off no pod counts as active.
            Pods::Wait if !self.release.has("JobBackOffKeepsActive") => done.active = 0,
            Pods::Wait => {}
            Pods::Create(indexes) => match pods_for(view, indexes) {
                Ok(pods) => {
                    let (created, error) = control.create_many(pods.len(), |position| &pods[position]).await;
                    done.active += created as i32;
                    failure = error.map(ReconcileError::from);
                }
                Err(error) => failure = Some(error),
            },
            Pods::Remove(pods) | Pods::End(pods) => {
                let counts = matches!(plan.pods, Pods::End(_));
                let remove = async |pod: &Arc<Pod>| {
                    if !counts {
                        release(pass, pod).await?;
                    }
                    control.delete(pod).await.map_err(ReconcileError::from)
                };
                for (pod, removed) in pods.iter().zip(join_all(pods.iter().map(remove)).await) {
                    match removed {
                        Ok(()) => {
                            done.active -= 1;
                            done.ending += 1;
                            done.ready -= i32::from(pod.is_ready());
                            done.released.extend((!counts).then(|| uid(pod).to_owned()));
                        }
                        Err(error) => {
                            done.all_removed = false;
                            failure.get_or_insert(error);
                        }
                    }
                }
            }
        }
        self.released.lock().add(&view.job.key(), done.released.iter().cloned());
        (done, failure)
    }

    /// Counts terminated pods, in two status writes with the removal of the finalizers between them.
    async fn track(&self, pass: &Pass, view: &JobView, mut tracking: Tracking) -> Result<(), ReconcileError> {
        let Some(job) = write(pass, view.job.as_ref(), &tracking).await? else { return Ok(()) };
        self.failures.lock().insert(job.key(), (job.metadata.uid.clone(), view.failures));
        let released = join_all(tracking.release.iter().map(|pod| release(pass, pod))).await;
        let done = tracking.release.clone();
        let gone: Vec<_> = done.iter().zip(&released).filter(|(_, done)| done.is_ok()).map(|(pod, _)| pod).collect();
        self.released.lock().add(&job.key(), gone.iter().map(|pod| uid(pod).to_owned()));
        tracking.released(gone.into_iter());
        let failure = released.into_iter().find_map(Result::err);
        let events = if failure.is_none() { tracking.finish(view) } else { Vec::new() };
        write(pass, &job, &tracking).await?;
        self.record_events(pass, &view.job, &events);
        failure.map_or(Ok(()), Err)
    }

    fn record_events(&self, pass: &Pass, job: &Job, events: &[JobEvent]) {
        for (event_type, reason, message) in events {
            self.events.in_pass(pass).event(job, *event_type, reason, message.as_str());
        }
    }
}

fn pods_for(view: &JobView, indexes: &[Option<u64>]) -> Result<Vec<Pod>, ReconcileError> {
    let (job, pod) = (view.job.as_ref(), job_pod(&view.job)?);
    let pod_for = |index: &Option<u64>| match index {
        Some(index) => with_index(pod.clone(), job, *index, view.kept.get(index).map(Arc::as_ref)),
        None => pod.clone(),
    };
    Ok(indexes.iter().map(pod_for).collect())
}

/// Writes the status, if it differs; returns the Job after the write, if it exists.
async fn write(pass: &Pass, job: &Job, tracking: &Tracking) -> Result<Option<Job>, ReconcileError> {
    let mut changed = job.clone();
    changed.status = tracking.status.clone();
    if changed == *job {
        return Ok(Some(changed));
    }
    match pass.api().update_status(&changed).await {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
