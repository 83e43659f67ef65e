use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::batch_v1::{
    Job, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule, SuccessPolicy, SuccessPolicyRule, UncountedTerminatedPods,
};
use coracle_api::core_v1::{ContainerStateTerminated, ContainerStatus, Pod, PodCondition};
use coracle_meta::parse_time;
use coracle_release::Release;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::backoff::Failures;
use super::decide::{Plan, Pods, plan};
use super::pod::{FAILURES, FINALIZER, INDEX};
use super::tracking::{Done, Tracking};
use super::view::JobView;
use crate::conditions::{find, is_true};

fn now() -> Timestamp {
    parse_time("2026-01-01T01:00:00Z").unwrap()
}

fn job(completions: Option<i32>, parallelism: i32) -> Job {
    let mut job = Job::default();
    job.metadata.name = Some("work".to_owned());
    job.spec.completions = completions;
    job.spec.parallelism = Some(parallelism);
    job.spec.backoff_limit = Some(6);
    job
}

fn indexed(completions: i32, parallelism: i32) -> Job {
    let mut job = job(Some(completions), parallelism);
    job.spec.completion_mode = Some("Indexed".to_owned());
    job
}

fn pod(name: &str, phase: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some("default".to_owned());
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.uid = Some(name.to_owned());
    pod.metadata.creation_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    pod.metadata.finalizers = vec![FINALIZER.to_owned()];
    pod.status.phase = phase.to_owned();
    pod
}

fn at_index(index: u64, phase: &str) -> Pod {
    let mut pod = pod(&format!("work-{index}-{phase}"), phase);
    pod.metadata.annotations.insert(INDEX.to_owned(), index.to_string());
    pod
}

fn exits(mut pod: Pod, code: i32) -> Pod {
    let mut status = ContainerStatus { name: "c".to_owned(), ..ContainerStatus::default() };
    let ended = ContainerStateTerminated {
        exit_code: code,
        finished_at: Some("2026-01-01T00:59:58Z".to_owned()),
        ..ContainerStateTerminated::default()
    };
    status.state.terminated = Some(Box::new(ended));
    pod.status.container_statuses = vec![status];
    pod
}

fn see(job: &Job, pods: &[Pod]) -> JobView {
    see_in(&Release::default(), job, pods)
}

fn see_in(release: &Release, job: &Job, pods: &[Pod]) -> JobView {
    let pods = pods.iter().cloned().map(Arc::new).collect();
    JobView::of(Arc::new(job.clone()), pods, Failures::default(), now(), release)
}

fn ends(job: &Job, pods: &[Pod]) -> Option<(String, String)> {
    plan(&see(job, pods)).ending.map(|ending| (ending.reason, ending.message))
}

fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
    pods.iter().map(|pod| pod.name()).collect()
}

/// The status before finalizers go, whose finalizers go, and the status when all have gone.
fn track(view: &JobView, plan: &Plan) -> (Tracking, Vec<String>, Tracking) {
    let mut done = Done::nothing(view);
    if let Pods::End(pods) = &plan.pods {
        done.active -= pods.len() as i32;
        done.ending += pods.len() as i32;
    }
    let (before, _) = Tracking::begin(view, plan, &done);
    let mut after = before.clone();
    let released: Vec<_> = after.release.drain(..).collect();
    after.released(released.iter());
    after.finish(view);
    (before, released.iter().map(|pod| pod.name().to_owned()).collect(), after)
}

#[test]
fn a_job_has_as_many_pods_as_are_left_to_succeed_and_no_more_than_it_may() {
    let made = |job: &Job, pods: &[Pod]| match plan(&see(job, pods)).pods {
        Pods::Create(pods) => pods.len(),
        _ => 0,
    };
    assert_eq!(made(&job(Some(5), 2), &[]), 2);
    assert_eq!(made(&job(Some(5), 9), &[pod("a", "Succeeded"), pod("b", "Running")]), 3);
    assert_eq!(made(&job(None, 3), &[pod("b", "Running")]), 2);
    assert_eq!(made(&job(None, 3), &[pod("a", "Succeeded"), pod("b", "Running")]), 0, "the first success ends it");
    assert_eq!(made(&job(Some(i32::MAX), i32::MAX), &[]), 500);
    let mut mangled = job(Some(5), -3);
    mangled.status.succeeded = -7;
    assert_eq!(made(&mangled, &[]), 0);
}

#[test]
fn the_least_useful_pods_go_and_are_not_counted() {
    let mut on_node = pod("on-node", "Pending");
    on_node.spec.node_name = "n".to_owned();
    let view = see(&job(Some(5), 1), &[pod("waiting", "Pending"), on_node]);
    let plan = plan(&view);
    let Pods::Remove(pods) = &plan.pods else { panic!("{plan:?}") };
    assert_eq!(names(pods), ["waiting"]);
    assert!(track(&view, &plan).1.is_empty());
}

#[test]
fn a_suspended_job_has_no_pods_and_a_resumed_job_has_its_full_deadline() {
    let mut job = job(Some(1), 1);
    job.spec.suspend = Some(true);
    let view = see(&job, &[pod("a", "Running")]);
    let suspended = plan(&view);
    assert!(matches!(&suspended.pods, Pods::Remove(pods) if pods.len() == 1));
    job.status = track(&view, &suspended).0.status;
    assert_eq!(job.status.start_time, None);
    assert!(is_true(&job.status.conditions, "Suspended"));
    job.spec.suspend = Some(false);
    job.status.start_time = Some("2020-01-01T00:00:00Z".to_owned());
    let view = see(&job, &[]);
    let resumed = track(&view, &plan(&view)).0.status;
    assert_eq!(resumed.start_time.as_deref(), Some("2026-01-01T01:00:00Z"));
    assert_eq!(find(&resumed.conditions, "Suspended").unwrap().reason, "JobResumed");
}

#[test]
fn a_job_that_is_suspended_loses_its_start_time_since_the_release_that_says_so() {
    for (version, kept) in [("1.35", true), ("1.36", false), ("1.37", false)] {
        let mut job = job(Some(1), 1);
        job.spec.suspend = Some(true);
        job.status.start_time = Some("2026-01-01T00:00:00Z".to_owned());
        let view = see_in(&Release::named(version).unwrap(), &job, &[pod("a", "Running")]);
        assert_eq!(track(&view, &plan(&view)).0.status.start_time.is_some(), kept, "{version}");
    }
}

#[test]
fn a_job_whose_own_pods_are_expected_makes_none_and_does_not_end() {
    let stale = |job: &Job, pods: &[Pod]| JobView { shows_own_writes: false, ..see(job, pods) };
    let view = stale(&job(Some(2), 2), &[]);
    let waits = plan(&view);
    assert_eq!(waits.pods, Pods::Leave);
    assert_eq!(waits.sentence(&view), "see 0 active, 0 succeeded, 0 failed: its own pods are expected: nothing");
    let mut failing = job(Some(2), 2);
    failing.spec.backoff_limit = Some(0);
    let view = stale(&failing, &[exits(pod("a", "Failed"), 1)]);
    let (before, _, after) = track(&view, &plan(&view));
    assert!(before.status.conditions.is_empty() && after.status.conditions.is_empty(), "{after:?}");
}

#[test]
fn a_failure_is_waited_after_and_too_many_end_the_job_with_all_its_pods() {
    let mut job = job(Some(2), 2);
    let failed = exits(pod("a", "Failed"), 1);
    let waiting = plan(&see(&job, &[failed.clone(), pod("b", "Running")]));
    assert_eq!((waiting.pods, waiting.again), (Pods::Wait, Some(SignedDuration::from_secs(8))));
    job.spec.backoff_limit = Some(0);
    let view = see(&job, &[failed, pod("b", "Running")]);
    let ending = plan(&view);
    assert_eq!(ending.ending.as_ref().unwrap().reason, "BackoffLimitExceeded");
    let (before, released, after) = track(&view, &ending);
    assert_eq!(released, ["a", "b"]);
    assert_eq!(before.status.uncounted_terminated_pods.unwrap().failed, ["a", "b"]);
    assert!(is_true(&before.status.conditions, "FailureTarget"));
    assert_eq!(after.status.failed, 2);
    assert!(!is_true(&after.status.conditions, "Failed"), "one is still on its way out");
}

#[test]
fn restarts_in_place_count_and_so_does_time() {
    let mut restarting = job(Some(1), 1);
    restarting.spec.template.spec.restart_policy = "OnFailure".to_owned();
    let mut running = pod("a", "Running");
    running.status.container_statuses =
        vec![ContainerStatus { restart_count: i32::MAX, ..ContainerStatus::default() }; 2];
    assert_eq!(ends(&restarting, &[running]).unwrap().0, "BackoffLimitExceeded");
    let mut limited = job(Some(1), 1);
    limited.spec.active_deadline_seconds = Some(60);
    limited.status.start_time = Some("2026-01-01T00:59:30Z".to_owned());
    assert_eq!(plan(&see(&limited, &[])).again, Some(SignedDuration::from_secs(30)));
    limited.status.start_time = Some("2026-01-01T00:59:00Z".to_owned());
    assert_eq!(ends(&limited, &[]).unwrap().0, "DeadlineExceeded");
    limited.spec.active_deadline_seconds = Some(i64::MAX);
    assert_eq!(ends(&limited, &[]), None);
}

fn on_code(action: &str, code: i32) -> PodFailurePolicyRule {
    let codes = PodFailurePolicyOnExitCodesRequirement {
        operator: "In".to_owned(),
        values: vec![code],
        ..PodFailurePolicyOnExitCodesRequirement::default()
    };
    PodFailurePolicyRule {
        action: action.to_owned(),
        on_exit_codes: Some(Box::new(codes)),
        ..PodFailurePolicyRule::default()
    }
}

#[test]
fn a_failure_policy_ends_the_job_or_leaves_a_failure_out() {
    let mut job = job(Some(2), 2);
    let on_eviction = PodFailurePolicyRule {
        action: "FailJob".to_owned(),
        on_pod_conditions: vec![PodFailurePolicyOnPodConditionsPattern {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            ..PodFailurePolicyOnPodConditionsPattern::default()
        }],
        ..PodFailurePolicyRule::default()
    };
    let rules = vec![on_code("Ignore", 3), on_code("FailJob", 42), on_eviction];
    job.spec.pod_failure_policy = Some(Box::new(PodFailurePolicy { rules, ..PodFailurePolicy::default() }));
    assert_eq!(ends(&job, &[exits(pod("a", "Failed"), 7)]), None);
    let (reason, message) = ends(&job, &[exits(pod("a", "Failed"), 42)]).unwrap();
    assert_eq!(reason, "PodFailurePolicy");
    assert_eq!(message, "Container c for pod default/a failed with exit code 42 matching FailJob rule at index 1");
    let mut evicted = pod("a", "Failed");
    evicted.status.conditions = vec![PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        ..PodCondition::default()
    }];
    let message = ends(&job, &[evicted]).unwrap().1;
    assert_eq!(message, "Pod default/a has condition DisruptionTarget matching FailJob rule at index 2");

    let view = see(&job, &[exits(pod("a", "Failed"), 3)]);
    let (before, released, _) = track(&view, &plan(&view));
    assert_eq!((view.failed, released), (0, vec!["a".to_owned()]));
    assert!(before.status.uncounted_terminated_pods.unwrap().failed.is_empty());
}

#[test]
fn a_pod_on_its_way_out_is_replaced_at_once_or_only_when_it_has_ended() {
    let mut going = pod("a", "Running");
    going.metadata.deletion_timestamp = Some("2026-01-01T00:30:00Z".to_owned());
    let mut job = job(Some(1), 1);
    assert_eq!(see(&job, &[going.clone()]).failed, 1);
    assert!(matches!(plan(&see(&job, &[going.clone()])).pods, Pods::Create(_)));
    job.spec.pod_replacement_policy = Some("Failed".to_owned());
    let view = see(&job, &[going]);
    assert_eq!((view.failed, plan(&view).pods), (0, Pods::Keep));
}

#[test]
fn each_index_has_one_pod_and_no_more_indexes_than_completions() {
    let mut twin = at_index(1, "Pending");
    twin.metadata.name = Some("twin".to_owned());
    let mut lost = pod("lost", "Running");
    lost.metadata.annotations.insert(INDEX.to_owned(), "-1".to_owned());
    let view = see(&indexed(3, 3), &[at_index(5, "Running"), at_index(1, "Running"), twin, lost]);
    let Pods::Remove(pods) = plan(&view).pods else { panic!() };
    assert_eq!(names(&pods), ["lost", "twin", "work-5-Running"]);
    let mut job = indexed(4, 4);
    job.status.completed_indexes = "0,77,x".to_owned();
    let made = plan(&see(&job, &[at_index(2, "Running")])).pods;
    assert_eq!(made, Pods::Create(vec![Some(1), Some(3)]));
}

#[test]
fn a_success_policy_needs_no_more_than_it_names() {
    let mut job = indexed(5, 5);
    let rule = |indexes: Option<&str>, count| SuccessPolicyRule {
        succeeded_indexes: indexes.map(str::to_owned),
        succeeded_count: count,
        ..SuccessPolicyRule::default()
    };
    let rules = vec![rule(Some("0-1"), None), rule(Some("2-4"), Some(2)), rule(None, Some(4))];
    job.spec.success_policy = Some(Box::new(SuccessPolicy { rules, ..SuccessPolicy::default() }));
    let after = |indexes: &[u64]| {
        let pods: Vec<_> = indexes.iter().map(|index| at_index(*index, "Succeeded")).collect();
        ends(&job, &pods).map(|(_, message)| message)
    };
    assert_eq!(after(&[0, 2]), None);
    assert_eq!(after(&[0, 1]).as_deref(), Some("Matched rules at index 0"));
    assert_eq!(after(&[2, 4]).as_deref(), Some("Matched rules at index 1"));
}

#[test]
fn an_index_is_tried_again_by_itself_until_its_own_limit() {
    let mut job = indexed(2, 2);
    job.spec.backoff_limit = Some(i32::MAX);
    job.spec.backoff_limit_per_index = Some(1);
    let failed = |count: &str| {
        let mut pod = exits(at_index(0, "Failed"), 1);
        pod.metadata.annotations.insert(FAILURES.to_owned(), count.to_owned());
        pod
    };
    let view = see(&job, &[failed("0"), at_index(1, "Running")]);
    assert_eq!(plan(&view).again, Some(SignedDuration::from_secs(8)));
    assert!(track(&view, &plan(&view)).1.is_empty(), "it stays until another carries its count");
    let view = see(&job, &[failed("1"), at_index(1, "Running")]);
    let (before, released, _) = track(&view, &plan(&view));
    assert_eq!(before.status.failed_indexes.as_deref(), Some("0"));
    assert_eq!(released, ["work-0-Failed"]);
    let (reason, _) = ends(&job, &[failed("1"), at_index(1, "Succeeded")]).unwrap();
    assert_eq!(reason, "FailedIndexes");
    job.spec.max_failed_indexes = Some(0);
    assert_eq!(ends(&job, &[failed("1")]).unwrap().0, "MaxFailedIndexesExceeded");
}

#[test]
fn a_job_ends_in_two_steps_with_the_same_reason() {
    let mut job = job(Some(1), 1);
    let succeeded = pod("a", "Succeeded");
    let view = see(&job, &[succeeded]);
    let (before, _, after) = track(&view, &plan(&view));
    assert!(is_true(&before.status.conditions, "SuccessCriteriaMet"));
    assert!(!is_true(&before.status.conditions, "Complete"));
    let complete = find(&after.status.conditions, "Complete").unwrap();
    assert_eq!((complete.reason.as_str(), after.status.succeeded), ("CompletionsReached", 1));
    assert!(after.status.completion_time.is_some());
    job.status = before.status;
    let view = see(&job, &[]);
    let again = track(&view, &plan(&view)).2.status;
    assert_eq!(again.succeeded, 1, "what was noted before a crash is counted after it");
    assert!(is_true(&again.conditions, "Complete"));
    assert_eq!(again.conditions.len(), 2);
}

proptest! {
    #[test]
    fn each_pod_is_counted_once_wherever_a_pass_breaks_off(
        phases in prop::collection::vec(0..3_u8, 1..8),
        breaks in prop::collection::vec(0..3_u8, 0..6),
    ) {
        let phase = |number: u8| ["Running", "Succeeded", "Failed"][usize::from(number)];
        let mut pods: Vec<Pod> =
            phases.iter().enumerate().map(|(at, number)| pod(&format!("p{at}"), phase(*number))).collect();
        let mut job = job(Some(100), 0);
        job.spec.backoff_limit = Some(100);
        // Before anything is written, after the first write, after the finalizers, and twice to the end.
        for stop in breaks.into_iter().chain([3, 3]) {
            let view = see(&job, &pods);
            let plan = Plan { pods: Pods::Keep, ..Plan::default() };
            let (before, released, after) = track(&view, &plan);
            if stop >= 1 {
                job.status = before.status;
            }
            if stop >= 2 {
                for pod in pods.iter_mut().filter(|pod| released.iter().any(|name| name == pod.name())) {
                    pod.metadata.finalizers.clear();
                }
            }
            if stop >= 3 {
                job.status = after.status;
            }
        }
        let of = |wanted: u8| phases.iter().filter(|number| **number == wanted).count() as i32;
        prop_assert_eq!((job.status.succeeded, job.status.failed), (of(1), of(2)));
        prop_assert_eq!(job.status.uncounted_terminated_pods.as_deref(), Some(&UncountedTerminatedPods::default()));
    }
}
