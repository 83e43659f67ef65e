//! What a Job needs next: pods to create or delete, or its end.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_meta::parse_time;
use jiff::SignedDuration;

use super::backoff::left_for_index;
use super::conditions::{Ending, FAILURE_TARGET, SUCCESS_CRITERIA_MET};
use super::pod::{completions, has_failed, index, is_ending, is_indexed, replaces_only_failed, usefulness};
use super::policy::{FailurePolicyAction, fulfilled, verdict};
use super::view::JobView;
use crate::conditions::find;

/// How many pods a pass creates or deletes at most. In Kubernetes: `MaxPodCreateDeletePerSync`.
const BURST: usize = 500;

/// A requeue delay is at least as long as pod changes are batched.
const SOONEST: SignedDuration = SignedDuration::from_secs(1);

/// What a pass does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// How the Job ends, if it does.
    pub(super) ending: Option<Ending>,
    pub(super) pods: Pods,
    /// When to sync again if nothing changes before.
    pub(super) again: Option<SignedDuration>,
}

/// What to do about the pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Pods {
    /// Nothing, because the Job itself is being deleted, or because its own pods are expected.
    #[default]
    Leave,
    /// Nothing.
    Keep,
    /// Nothing until the back-off is over.
    Wait,
    /// Create one for each entry, with its index if the Job is indexed.
    Create(Vec<Option<u64>>),
    /// Delete these, without counting them.
    Remove(Vec<Arc<Pod>>),
    /// Delete these, and count them.
    End(Vec<Arc<Pod>>),
}

pub(super) fn plan(view: &JobView) -> Plan {
    if let Some(ending) = ending(view) {
        return Plan { ending: Some(ending), pods: Pods::End(view.active.clone()), again: None };
    }
    let deadline = time_left(view);
    if view.job.metadata.is_terminating() || !view.shows_own_writes {
        return Plan { again: deadline, ..Plan::default() };
    }
    let (pods, wait) = manage(view);
    Plan { ending: None, pods, again: deadline.into_iter().chain(wait).min() }
}

/// How the Job ends, except by completion: that depends on the pods of this pass.
fn ending(view: &JobView) -> Option<Ending> {
    let job = &view.job;
    let said = |type_: &str| find(&job.status.conditions, type_).filter(|condition| condition.status == "True");
    if let Some(met) = said(SUCCESS_CRITERIA_MET) {
        return Some(Ending { succeeded: true, reason: met.reason.clone(), message: met.message.clone() });
    }
    if let Some(target) = said(FAILURE_TARGET) {
        return Some(Ending { succeeded: false, reason: target.reason.clone(), message: target.message.clone() });
    }
    let failed_pods = view.pods.iter().filter(|pod| has_failed(pod, job));
    let by_policy = failed_pods.map(|pod| verdict(job, pod)).find_map(|verdict| match verdict {
        FailurePolicyAction::FailJob(message) => Some(message),
        FailurePolicyAction::Count | FailurePolicyAction::Ignore | FailurePolicyAction::FailIndex => None,
    });
    if let Some(message) = by_policy {
        return Some(Ending::failed("PodFailurePolicy", message));
    }
    if view.failed > job.spec.backoff_limit.unwrap_or(6) || restarts_exceed(view) {
        return Some(Ending::failed("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    if time_left(view).is_some_and(|left| !left.is_positive()) {
        return Some(Ending::failed("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    if !is_indexed(job) {
        return None;
    }
    if let Some(failed) = view.failed_indexes.as_ref().map(super::indexes::Indexes::total) {
        let most = job.spec.max_failed_indexes.and_then(|most| u64::try_from(most).ok());
        if most.is_some_and(|most| failed > most) {
            let message = "Job has exceeded the specified maximal number of failed indexes";
            return Some(Ending::failed("MaxFailedIndexesExceeded", message));
        }
        if failed > 0 && failed + view.succeeded_indexes.total() >= completions(job) {
            return Some(Ending::failed("FailedIndexes", "Job has failed indexes"));
        }
    }
    let message = fulfilled(job, &view.succeeded_indexes)?;
    Some(Ending { succeeded: true, reason: "SuccessPolicy".to_owned(), message })
}

/// In-place container restarts count as failures. In Kubernetes: `pastBackoffLimitOnFailure`.
fn restarts_exceed(view: &JobView) -> bool {
    if view.job.spec.template.spec.restart_policy != "OnFailure" {
        return false;
    }
    let running = view.pods.iter().filter(|pod| matches!(pod.phase(), "Running" | "Pending"));
    let statuses =
        running.flat_map(|pod| pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses));
    let restarts = statuses.fold(0_i32, |sum, status| sum.saturating_add(status.restart_count));
    restarts >= view.job.spec.backoff_limit.unwrap_or(6).max(1)
}

/// The remaining active deadline, if there is one.
fn time_left(view: &JobView) -> Option<SignedDuration> {
    let seconds = view.job.spec.active_deadline_seconds.filter(|_| !view.is_suspended())?;
    // A Job that starts with this pass has its full deadline.
    let started = view.job.status.start_time.as_deref().and_then(parse_time).unwrap_or(view.now);
    Some(SignedDuration::from_secs(seconds).saturating_sub(view.now.duration_since(started)))
}

/// In Kubernetes: `manageJob`.
fn manage(view: &JobView) -> (Pods, Option<SignedDuration>) {
    let job = &view.job;
    let active = view.active.len();
    if view.is_suspended() {
        let pods = superfluous(view, active);
        return (if pods.is_empty() { Pods::Keep } else { Pods::Remove(pods) }, None);
    }
    let parallelism = usize::try_from(job.spec.parallelism.unwrap_or(1)).unwrap_or(0);
    let wanted = match job.spec.completions {
        None if view.succeeded > 0 => active,
        None => parallelism,
        Some(completions) => {
            let left = u64::try_from(completions).unwrap_or(0).saturating_sub(view.succeeded);
            parallelism.min(usize::try_from(left).unwrap_or(usize::MAX))
        }
    };
    let mut pods = superfluous(view, active.saturating_sub(wanted));
    pods.truncate(BURST);
    if !pods.is_empty() {
        return (Pods::Remove(pods), None);
    }
    let ending = if replaces_only_failed(job) { usize::try_from(view.ending).unwrap_or(0) } else { 0 };
    let missing = wanted.saturating_sub(active + ending);
    if missing == 0 {
        return (Pods::Keep, None);
    }
    let per_index = view.failed_indexes.is_some();
    if let Some(left) = view.failures.left(view.now).filter(|_| !per_index) {
        return (Pods::Wait, Some(left.max(SOONEST)));
    }
    let missing = missing.min(BURST);
    if !is_indexed(job) {
        return (Pods::Create(vec![None; missing]), None);
    }
    let waits = pending(view, missing).into_iter().map(|index| {
        let wait = view.kept.get(&index).and_then(|pod| left_for_index(pod, view.now));
        (index, wait)
    });
    let (waiting, due): (Vec<_>, Vec<_>) = waits.partition(|(_, wait)| wait.is_some());
    match waiting.into_iter().filter_map(|(_, wait)| wait).min() {
        Some(left) if due.is_empty() => (Pods::Wait, Some(left.max(SOONEST))),
        _ if due.is_empty() => (Pods::Keep, None),
        _ => (Pods::Create(due.into_iter().map(|(index, _)| Some(index)).collect()), None),
    }
}

/// The first indexes without a pod that have neither succeeded nor failed. In Kubernetes: `firstPendingIndexes`.
fn pending(view: &JobView, count: usize) -> Vec<u64> {
    let busy = view.pods.iter().filter(|pod| pod.is_active() || (replaces_only_failed(&view.job) && is_ending(pod)));
    let taken = view.succeeded_indexes.union(&busy.filter_map(|pod| index(pod)).collect());
    let taken = view.failed_indexes.as_ref().map_or(taken.clone(), |failed| taken.union(failed));
    taken.first_missing(count, completions(&view.job))
}

/// At least this many active pods to delete, the least useful first. With indexes: before them the pods without an
/// index, with a duplicate index, or with an index that is out of range. In Kubernetes: `activePodsForRemoval`.
fn superfluous(view: &JobView, at_least: usize) -> Vec<Arc<Pod>> {
    let mut left = view.active.clone();
    let mut remove = Vec::new();
    if is_indexed(&view.job) {
        // The most useful pod of an index comes first and stays.
        left.sort_by_cached_key(|pod| (index(pod), std::cmp::Reverse(usefulness(pod))));
        let completions = completions(&view.job);
        let mut seen = BTreeSet::new();
        (left, remove) =
            left.into_iter().partition(|pod| index(pod).is_some_and(|index| index < completions && seen.insert(index)));
    }
    left.sort_by_cached_key(|pod| usefulness(pod));
    left.truncate(at_least.saturating_sub(remove.len()));
    remove.extend(left);
    remove
}

impl Plan {
    /// The decision as a sentence, for the event log.
    pub(super) fn sentence(&self, view: &JobView) -> String {
        let seen = format!("see {} active, {} succeeded, {} failed", view.active.len(), view.succeeded, view.failed);
        let deed = match (&self.ending, &self.pods) {
            (Some(Ending { reason, .. }), _) => format!("it ends, {reason}: delete {}", view.active.len()),
            (None, Pods::Leave) if !view.shows_own_writes => "its own pods are expected: nothing".to_owned(),
            (None, Pods::Leave) => "it is being deleted: nothing".to_owned(),
            (None, Pods::Keep | Pods::End(_)) => "nothing to do".to_owned(),
            (None, Pods::Wait) => "wait for the back-off".to_owned(),
            (None, Pods::Create(pods)) => format!("create {}", pods.len()),
            (None, Pods::Remove(pods)) => format!("delete {}", pods.len()),
        };
        format!("{seen}: {deed}")
    }
}
