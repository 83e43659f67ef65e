//! Deletes finished Jobs after their `ttlSecondsAfterFinished`.
//!
//! In Kubernetes: `pkg/controller/ttlafterfinished`.

use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::batch_v1::Job;
use coracle_client::{DeleteParams, Propagation};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, parse_time};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use crate::Config;
use crate::job::is_finished;

/// The TTL-after-finished controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let jobs = process.informers.informer::<Job>();
    let reconciler = TtlAfterFinished { jobs: jobs.lister(), clock: process.ambient.clock.clone() };
    let controller = Controller::new(process, "ttl-after-finished", reconciler)
        .client(config.client(process))
        .watches(&jobs, |notification| match notification {
            Notification::Added { object: job, .. } | Notification::Updated { new: job, .. } if is_to_go(job) => {
                vec![job.key()]
            }
            _ => Vec::new(),
        })
        .workers(5);
    Box::pin(controller.run())
}

fn is_to_go(job: &Job) -> bool {
    !job.metadata.is_terminating() && job.spec.ttl_seconds_after_finished.is_some() && is_finished(job)
}

struct TtlAfterFinished {
    jobs: Lister<Job>,
    clock: Clock,
}

impl Reconciler for TtlAfterFinished {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(job) = self.jobs.get(key) else { return pass.gone() };
        if let Some(action) = self.wait(pass, &job)? {
            return Ok(action);
        }
        // Read live: the TTL may have been extended meanwhile, and a deletion cannot be undone.
        let Some(job) = pass.api::<Job>().find(key).await? else { return pass.gone() };
        if let Some(action) = self.wait(pass, &job)? {
            return Ok(action);
        }
        pass.decided(|| "its time is over: delete");
        let params = DeleteParams::propagating(Propagation::Foreground);
        let params = params.with_uid(job.metadata.uid.clone().unwrap_or_default());
        pass.delete_if_there::<Job>(key, &params).await?;
        Ok(Action::Done)
    }
}

impl TtlAfterFinished {
    /// The action instead of deleting the Job; `None` if its TTL has expired.
    fn wait(&self, pass: &Pass, job: &Job) -> Result<Option<Action>, ReconcileError> {
        let Some(seconds) = job.spec.ttl_seconds_after_finished.filter(|_| is_to_go(job)) else {
            return pass.done(|| "it is not finished, or stays when it is: nothing to do").map(Some);
        };
        let ends = |type_: &str| matches!(type_, "Complete" | "Failed");
        let mut conditions = job.status.conditions.iter();
        let ended = conditions.find(|condition| ends(&condition.type_) && condition.status == "True");
        let at = ended.and_then(|condition| condition.last_transition_time.as_deref()).and_then(parse_time);
        let at = at.ok_or_else(|| {
            ReconcileError::Object(format!("unable to find the time when the Job {} finished", job.key()))
        })?;
        let left = SignedDuration::from_secs(i64::from(seconds)).saturating_sub(self.clock.now().duration_since(at));
        if !left.is_positive() {
            return Ok(None);
        }
        pass.decided(|| format!("its time is over in {left:#}"));
        Ok(Some(Action::RequeueAfter(Duration::try_from(left).unwrap_or_default())))
    }
}
