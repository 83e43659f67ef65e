//! The observed state of a Job and its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::batch_v1::{Job, UncountedTerminatedPods};
use coracle_api::core_v1::Pod;
use coracle_release::Release;

use super::backoff::Failures;
use super::indexes::Indexes;
use super::pod::{
    all_failures_before, completions, failures_before, finished_at, has_failed, has_finalizer, index, is_ending,
    is_indexed, uid, valid_index,
};
use super::policy::{FailurePolicyAction, verdict};

/// A Job, its pods, and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct JobView {
    pub(super) job: Arc<Job>,
    /// The Job's pods; with indexes, ordered by index.
    pub(super) pods: Vec<Arc<Pod>>,
    /// Those that have neither terminated nor are being deleted.
    pub(super) active: Vec<Arc<Pod>>,
    /// How many are being deleted and still run.
    pub(super) ending: i32,
    /// How many of the active ones are ready.
    pub(super) ready: i32,
    /// How many succeeded in total; with indexes, how many of these.
    pub(super) succeeded: u64,
    /// How many failed in total.
    pub(super) failed: i32,
    /// The indexes that had succeeded when the status was written, and those that have succeeded now.
    pub(super) succeeded_before: Indexes,
    pub(super) succeeded_indexes: Indexes,
    /// The indexes that are not retried, with a limit per index.
    pub(super) failed_indexes: Option<Indexes>,
    /// With a limit per index: the failed pod of each index that is kept until its replacement continues its count.
    pub(super) kept: BTreeMap<u64, Arc<Pod>>,
    pub(super) failures: Failures,
    pub(super) now: Timestamp,
    /// Whether the cache shows the pods that the controller created and deleted.
    pub(super) shows_own_writes: bool,
    pub(super) release: Release,
}

impl JobView {
    /// `failures` are those before the pods whose termination is seen for the first time.
    pub(super) fn of(
        job: Arc<Job>,
        mut pods: Vec<Arc<Pod>>,
        failures: Failures,
        now: Timestamp,
        release: &Release,
    ) -> Self {
        if is_indexed(&job) {
            pods.sort_by_key(|pod| index(pod));
        }
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let nobody = UncountedTerminatedPods::default();
        let uncounted = job.status.uncounted_terminated_pods.as_deref().unwrap_or(&nobody);
        let new = |known: &[String], ended: &dyn Fn(&Pod) -> bool| -> Vec<Arc<Pod>> {
            let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
            let counts = |pod: &Pod| {
                has_finalizer(pod)
                    && !known.contains(uid(pod))
                    && (!is_indexed(&job) || valid_index(pod, &job).is_some())
            };
            pods.iter().filter(|pod| counts(pod) && ended(pod)).cloned().collect()
        };
        let new_succeeded = new(&uncounted.succeeded, &|pod| pod.phase() == "Succeeded");
        let new_failed = new(&uncounted.failed, &|pod| has_failed(pod, &job));
        let counting = new_failed.iter().filter(|pod| verdict(&job, pod).counts()).count() + uncounted.failed.len();
        let succeeded = new_succeeded.len() + uncounted.succeeded.len();
        let mut view = Self {
            ending: pods.iter().filter(|pod| is_ending(pod)).count() as i32,
            ready: active.iter().filter(|pod| pod.is_ready()).count() as i32,
            succeeded: u64::try_from(job.status.succeeded).unwrap_or(0).saturating_add(succeeded as u64),
            failed: job.status.failed.saturating_add(i32::try_from(counting).unwrap_or(i32::MAX)),
            succeeded_before: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            kept: BTreeMap::new(),
            failures: failures.after(&new_succeeded, &new_failed),
            active,
            job,
            pods,
            now,
            shows_own_writes: true,
            release: release.clone(),
        };
        if is_indexed(&view.job) {
            view.look_at_indexes();
        }
        view
    }

    fn look_at_indexes(&mut self) {
        let completions = completions(&self.job);
        let uncounted: Vec<_> = self.pods.iter().filter(|pod| has_finalizer(pod)).collect();
        let indexes = |which: &dyn Fn(&Pod) -> bool| -> Indexes {
            let pods = uncounted.iter().filter(|pod| which(pod));
            pods.filter_map(|pod| valid_index(pod, &self.job)).collect()
        };
        let before = Indexes::parse(&self.job.status.completed_indexes, completions);
        let succeeded = before.union(&indexes(&|pod| pod.phase() == "Succeeded"));
        if let Some(limit) = self.job.spec.backoff_limit_per_index {
            let text = self.job.status.failed_indexes.as_deref().unwrap_or_default();
            let has_failed_for_good = |pod: &Pod| {
                has_failed(pod, &self.job)
                    && match verdict(&self.job, pod) {
                        FailurePolicyAction::FailIndex => true,
                        verdict => verdict.counts() && failures_before(pod).0 >= limit,
                    }
            };
            let failed = Indexes::parse(text, completions).union(&indexes(&has_failed_for_good));
            let active: BTreeSet<u64> = self.active.iter().filter_map(|pod| index(pod)).collect();
            let mut kept: BTreeMap<u64, Arc<Pod>> = BTreeMap::new();
            for pod in uncounted.into_iter().filter(|pod| has_failed(pod, &self.job)) {
                let Some(index) = valid_index(pod, &self.job) else { continue };
                if succeeded.contains(index) || failed.contains(index) || active.contains(&index) {
                    continue;
                }
                let order = |pod: &Pod| (all_failures_before(pod), finished_at(pod));
                let is_later = kept.get(&index).is_none_or(|before| {
                    let (before, this) = (order(before), order(pod));
                    before.0 <= this.0 && before.1 <= this.1
                });
                if is_later {
                    kept.insert(index, pod.clone());
                }
            }
            (self.failed_indexes, self.kept) = (Some(failed), kept);
        }
        self.succeeded = succeeded.total();
        (self.succeeded_before, self.succeeded_indexes) = (before, succeeded);
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.job.spec.suspend == Some(true)
    }
}
