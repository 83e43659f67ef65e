//! The status of a Job: every terminated pod is counted exactly once, even if a write fails.
//!
//! ```text
//! uid into uncountedTerminatedPods -> finalizer removed from the pod -> uid out again, and counted
//! ```
//! The status is written before the finalizers are removed, and after. A success with an index needs no uid:
//! `completedIndexes` records the index.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::batch_v1::{Job, JobStatus};
use coracle_api::core_v1::Pod;
use coracle_controller_runtime::EventType;
use coracle_meta::format_time;

use super::conditions::{Ending, SUSPENDED, condition, ensure};
use super::decide::{Plan, Pods};
use super::indexes::Indexes;
use super::pod::{has_failed, has_finalizer, index, is_indexed, uid, valid_index};
use super::policy::verdict;
use super::view::JobView;
use crate::conditions::is_true;

/// The maximum number of uncounted pods in a status. In Kubernetes: `MaxUncountedPods`.
const MOST_UNCOUNTED: usize = 500;

/// The result of this pass for the pods.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) active: i32,
    pub(super) ready: i32,
    pub(super) ending: i32,
    /// Whether all pods to delete are being deleted.
    pub(super) all_removed: bool,
    /// The uids of pods whose finalizer was removed without counting them.
    pub(super) released: BTreeSet<String>,
}

impl Done {
    pub(super) fn nothing(view: &JobView) -> Self {
        Self {
            active: view.active.len() as i32,
            ready: view.ready,
            ending: view.ending,
            // Pods that the cache lacks may still be active.
            all_removed: view.shows_own_writes,
            released: BTreeSet::new(),
        }
    }
}

/// An event of the Job.
pub(super) type JobEvent = (EventType, String, String);

/// The status while it is computed.
#[derive(Clone, Debug)]
pub(super) struct Tracking {
    pub(super) status: JobStatus,
    /// The pods whose finalizer must be removed.
    pub(super) release: Vec<Arc<Pod>>,
    ending: Option<Ending>,
    /// The uids of the pods that have the finalizer.
    held: BTreeSet<String>,
    all_counted: bool,
}

impl Tracking {
    /// The status to write before finalizers are removed, and events.
    pub(super) fn begin(view: &JobView, plan: &Plan, done: &Done) -> (Self, Vec<JobEvent>) {
        let held = view.pods.iter().filter(|pod| has_finalizer(pod) && !done.released.contains(uid(pod)));
        let held = held.map(|pod| uid(pod).to_owned()).collect();
        let mut status = view.job.status.clone();
        status.uncounted_terminated_pods.get_or_insert_default();
        if status.start_time.is_none() && !view.is_suspended() {
            status.start_time = Some(format_time(view.now));
        }
        let ending = plan.ending.clone().filter(|_| done.all_removed);
        let mut tracking = Self { status, release: Vec::new(), ending, held, all_counted: true };
        let mut events = Vec::new();
        if plan.ending.is_none() {
            if is_complete(view, done) {
                tracking.ending = Some(Ending::completed());
            } else if plan.pods != Pods::Leave {
                events.extend(tracking.suspend_or_resume(view));
            }
        }
        tracking.status.active = done.active;
        tracking.status.ready = Some(done.ready);
        tracking.status.terminating = Some(done.ending);
        tracking.count_released();
        tracking.note_ended(view);
        if let Some(ending) = &tracking.ending {
            let begun = ending.begun(view.now);
            if !is_true(&tracking.status.conditions, &begun.type_) {
                tracking.status.conditions.push(begun);
            }
        }
        (tracking, events)
    }

    /// A resumed Job gets its full active deadline again; in some releases a suspended one loses its start.
    fn suspend_or_resume(&mut self, view: &JobView) -> Option<JobEvent> {
        let (status, reason, event, message) = if view.is_suspended() {
            ("True", "JobSuspended", "Suspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Resumed", "Job resumed")
        };
        let said = condition(SUSPENDED, status, reason, message, view.now);
        if !ensure(&mut self.status.conditions, said) {
            return None;
        }
        if !view.is_suspended() {
            self.status.start_time = Some(format_time(view.now));
        } else if view.release.enabled("MutableSchedulingDirectivesForSuspendedJobs") {
            self.status.start_time = None;
        }
        Some((EventType::Normal, event.to_owned(), message.to_owned()))
    }

    /// Records the terminated pods, and that their finalizers may be removed.
    fn note_ended(&mut self, view: &JobView) {
        let job = &view.job;
        let seen = job.status.uncounted_terminated_pods.as_deref().cloned().unwrap_or_default();
        let uncounted = self.status.uncounted_terminated_pods.get_or_insert_default();
        let mut new_indexes = Vec::new();
        for pod in view.pods.iter().filter(|pod| self.held.contains(uid(pod))) {
            let failed = has_failed(pod, job);
            if !may_go(view, self.ending.as_ref(), pod, failed) {
                continue;
            }
            self.release.push(pod.clone());
            let is_known = |known: &[String]| known.iter().any(|one| one == uid(pod));
            let valid = valid_index(pod, job);
            if pod.phase() == "Succeeded" && !is_known(&seen.failed) {
                match valid.filter(|index| !view.succeeded_before.contains(*index)) {
                    Some(index) if is_indexed(job) => new_indexes.push(index),
                    _ if !is_indexed(job) && !is_known(&seen.succeeded) => {
                        uncounted.succeeded.push(uid(pod).to_owned())
                    }
                    _ => {}
                }
            } else if failed || self.ending.as_ref().is_some_and(|ending| !ending.succeeded) {
                // Pods that a failed Job deletes count as failed.
                let counts = !is_indexed(job) || valid.is_some();
                if counts && !is_known(&seen.failed) && verdict(job, pod).counts() {
                    uncounted.failed.push(uid(pod).to_owned());
                }
            }
            if new_indexes.len() + uncounted.succeeded.len() + uncounted.failed.len() >= MOST_UNCOUNTED {
                self.all_counted = false;
                break;
            }
        }
        if is_indexed(job) {
            let succeeded = view.succeeded_indexes.union(&new_indexes.into_iter().collect());
            self.status.succeeded = i32::try_from(succeeded.total()).unwrap_or(i32::MAX);
            self.status.completed_indexes = succeeded.to_string();
            self.status.failed_indexes = view.failed_indexes.as_ref().map(Indexes::to_string);
        }
    }

    /// Counts the pods without the finalizer. In Kubernetes: `cleanUncountedPodsWithoutFinalizers`.
    fn count_released(&mut self) {
        let uncounted = self.status.uncounted_terminated_pods.get_or_insert_default();
        let count = |uids: &mut Vec<String>, counter: &mut i32| {
            let before = uids.len();
            uids.retain(|uid| self.held.contains(uid));
            *counter = counter.saturating_add(i32::try_from(before - uids.len()).unwrap_or(i32::MAX));
        };
        count(&mut uncounted.succeeded, &mut self.status.succeeded);
        count(&mut uncounted.failed, &mut self.status.failed);
    }

    /// Records that these pods no longer have the finalizer.
    pub(super) fn released<'p>(&mut self, pods: impl Iterator<Item = &'p Arc<Pod>>) {
        for pod in pods {
            self.held.remove(uid(pod));
        }
        self.count_released();
    }

    /// Sets the final condition, if the Job has ended: when all pods are counted, and none is terminating any more.
    pub(super) fn finish(&mut self, view: &JobView) -> Vec<JobEvent> {
        let uncounted = self.status.uncounted_terminated_pods.as_deref();
        let counted = uncounted.is_none_or(|pods| pods.succeeded.is_empty() && pods.failed.is_empty());
        let Some(ending) = self.ending.as_ref().filter(|_| counted && self.all_counted) else { return Vec::new() };
        if self.status.terminating.is_some_and(|ending| ending > 0) {
            return Vec::new();
        }
        ensure(&mut self.status.conditions, ending.done(view.now));
        if !ending.succeeded {
            return vec![(EventType::Warning, ending.reason.clone(), ending.message.clone())];
        }
        self.status.completion_time = Some(format_time(view.now));
        let completed = (EventType::Normal, "Completed".to_owned(), "Job completed".to_owned());
        if view.job.spec.completions.is_some_and(|completions| self.status.succeeded > completions) {
            let message = "Too many succeeded pods running after completion count reached".to_owned();
            return vec![(EventType::Warning, "TooManySucceededPods".to_owned(), message), completed];
        }
        vec![completed]
    }
}

/// Whether all completions have succeeded, or, without `completions`, one pod has succeeded and none runs any more.
fn is_complete(view: &JobView, done: &Done) -> bool {
    let enough = match view.job.spec.completions {
        None => view.succeeded > 0,
        Some(completions) => u64::try_from(completions).is_ok_and(|completions| view.succeeded >= completions),
    };
    enough && done.active == 0
}

/// Whether a pod may lose its finalizer. In Kubernetes: `canRemoveFinalizer`.
fn may_go(view: &JobView, ending: Option<&Ending>, pod: &Pod, failed: bool) -> bool {
    let job: &Job = &view.job;
    let is_kept = || {
        let kept = index(pod).and_then(|index| view.kept.get(&index));
        job.spec.backoff_limit_per_index.is_some() && kept.is_some_and(|kept| uid(kept) == uid(pod))
    };
    job.metadata.is_terminating() || ending.is_some() || pod.phase() == "Succeeded" || (failed && !is_kept())
}
