//! Properties of a Job and of its pods.

use std::cmp::Reverse;

use coracle_ambient::Timestamp;
use coracle_api::batch_v1::Job;
use coracle_api::core_v1::{ContainerStatus, Pod};
use coracle_meta::parse_time;
use jiff::SignedDuration;

use crate::pods::{max_restarts, ready_since};

/// The finalizer of a pod until it has been counted.
pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// The annotation and label with a pod's completion index.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// How many pods of the index failed before this one.
pub(super) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How many of them failed and were ignored.
pub(super) const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Whether the Job gives each pod an index.
pub(super) fn is_indexed(job: &Job) -> bool {
    job.spec.completion_mode.as_deref() == Some("Indexed")
}

/// Whether another controller manages the Job. In Kubernetes: `managedByExternalController`.
pub(super) fn is_managed_elsewhere(job: &Job) -> bool {
    job.spec.managed_by.as_deref().is_some_and(|controller| controller != "kubernetes.io/job-controller")
}

/// How many completions an indexed Job has.
pub(super) fn completions(job: &Job) -> u64 {
    job.spec.completions.and_then(|completions| u64::try_from(completions).ok()).unwrap_or(0)
}

/// Whether a pod is replaced only after it has terminated, not while it is terminating.
pub(super) fn replaces_only_failed(job: &Job) -> bool {
    job.spec.pod_replacement_policy.as_deref() == Some("Failed") || job.spec.pod_failure_policy.is_some()
}

pub(super) fn has_finalizer(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
}

pub(super) fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// A pod's completion index, if it has a valid one.
pub(super) fn index(pod: &Pod) -> Option<u64> {
    pod.metadata.annotations.get(INDEX)?.parse::<i64>().ok().and_then(|index| u64::try_from(index).ok())
}

/// The index of a pod of an indexed Job, if it is in range.
pub(super) fn valid_index(pod: &Pod, job: &Job) -> Option<u64> {
    index(pod).filter(|index| *index < completions(job))
}

/// How many pods of its index failed before it: counted and ignored ones.
pub(super) fn failures_before(pod: &Pod) -> (i32, i32) {
    let number = |name: &str| {
        let text = pod.metadata.annotations.get(name);
        text.and_then(|text| text.parse::<i32>().ok()).filter(|number| *number >= 0).unwrap_or(0)
    };
    (number(FAILURES), number(IGNORED_FAILURES))
}

pub(super) fn all_failures_before(pod: &Pod) -> i32 {
    let (counted, ignored) = failures_before(pod);
    counted.saturating_add(ignored)
}

/// Whether a pod counts as failed for its Job: a pod that is being deleted does, unless the Job replaces only failed
/// pods.
pub(super) fn has_failed(pod: &Pod, job: &Job) -> bool {
    pod.phase() == "Failed" || (!replaces_only_failed(job) && pod.is_terminating() && pod.phase() != "Succeeded")
}

/// Whether a pod is being deleted and still runs. In Kubernetes: `controller.IsPodTerminating`.
pub(super) fn is_ending(pod: &Pod) -> bool {
    pod.is_terminating() && !pod.is_finished()
}

/// When a pod terminated, as precisely as its status shows. In Kubernetes: `getFinishedTime`.
pub(super) fn finished_at(pod: &Pod) -> Timestamp {
    let from_containers = || latest_end(latest_end(None, pod.status.container_statuses.iter()), sidecars(pod));
    let from_readiness = || {
        let ready = pod.condition("Ready").filter(|condition| condition.status == "False")?;
        ready.last_transition_time.as_deref().and_then(parse_time)
    };
    let from_deletion = || {
        let deleted = pod.metadata.deletion_timestamp.as_deref().and_then(parse_time)?;
        let grace = SignedDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
        deleted.checked_sub(grace).ok()
    };
    let created = || pod.metadata.creation_timestamp.as_deref().and_then(parse_time);
    from_containers().or_else(from_readiness).or_else(from_deletion).or_else(created).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn sidecars(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let is_sidecar = |status: &&ContainerStatus| {
        let container = pod.spec.init_containers.iter().find(|container| container.name == status.name);
        container.is_some_and(|container| container.restart_policy.as_deref() == Some("Always"))
    };
    pod.status.init_container_statuses.iter().filter(is_sidecar)
}

/// The latest termination time; `None` as soon as one container has not terminated.
fn latest_end<'a>(before: Option<Timestamp>, statuses: impl Iterator<Item = &'a ContainerStatus>) -> Option<Timestamp> {
    let ended_at = |status: &ContainerStatus| {
        status.state.terminated.as_deref().and_then(|terminated| terminated.finished_at.as_deref().and_then(parse_time))
    };
    let ends: Option<Vec<_>> = statuses.map(ended_at).collect();
    ends?.into_iter().chain(before).max()
}

/// The order in which surplus pods are deleted: the least useful first. In Kubernetes: `controller.ActivePods`.
pub(super) fn usefulness(pod: &Pod) -> impl Ord + use<> {
    let phase = match pod.phase() {
        "Pending" | "" => 0,
        "Running" => 2,
        _ => 1,
    };
    let created = pod.metadata.creation_timestamp.as_deref().and_then(parse_time);
    (
        pod.node_name().is_some(),
        phase,
        pod.is_ready(),
        Reverse(ready_since(pod).unwrap_or(Timestamp::MAX)),
        Reverse(max_restarts(pod)),
        Reverse(created.unwrap_or(Timestamp::MAX)),
    )
}
