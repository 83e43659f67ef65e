//! The status of a CronJob, from its Jobs.

use std::sync::Arc;

use coracle_api::batch_v1::{CronJob, CronJobStatus, Job};
use coracle_controller_runtime::EventType;
use coracle_meta::parse_time;

use crate::conditions::is_true;
use crate::job::is_finished;

/// An event of the CronJob.
pub(super) type CronJobEvent = (EventType, &'static str, String);

pub(super) fn succeeded(job: &Job) -> bool {
    is_true(&job.status.conditions, "Complete")
}

fn uid(job: &Job) -> &str {
    job.metadata.uid.as_deref().unwrap_or_default()
}

pub(super) fn forget(status: &mut CronJobStatus, job: &Job) {
    status.active.retain(|active| active.uid != uid(job));
}

/// Finished Jobs beyond the history limits, successful and failed ones: the oldest.
///
/// In Kubernetes: `cleanupFinishedJobs`.
pub(super) fn surplus(cron: &CronJob, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let oldest = |which: &dyn Fn(&Job) -> bool, limit: Option<i32>| {
        let mut jobs: Vec<_> = jobs.iter().filter(|job| is_finished(job) && which(job)).cloned().collect();
        jobs.sort_by_key(|job| {
            let started = job.status.start_time.as_deref().and_then(parse_time);
            (started.is_none(), started, job.metadata.name.clone())
        });
        let keep = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
        jobs.truncate(jobs.len().saturating_sub(keep));
        jobs
    };
    let mut surplus = oldest(&succeeded, cron.spec.successful_jobs_history_limit);
    surplus.extend(oldest(&|job| !succeeded(job), cron.spec.failed_jobs_history_limit));
    surplus
}

/// Updates the status with the Jobs that run and that have finished.
pub(super) fn observe(status: &mut CronJobStatus, jobs: &[Arc<Job>]) -> Vec<CronJobEvent> {
    let mut events = Vec::new();
    for job in jobs {
        let name = job.metadata.name.as_deref().unwrap_or_default();
        let is_active = status.active.iter().any(|active| active.uid == uid(job));
        if !is_finished(job) {
            if !is_active {
                let message = format!("Saw a job that the controller did not create or forgot: {name}");
                events.push((EventType::Warning, "UnexpectedJob", message));
            }
            continue;
        }
        if is_active {
            forget(status, job);
            let condition = if succeeded(job) { "Complete" } else { "Failed" };
            let message = format!("Saw completed job: {name}, condition: {condition}");
            events.push((EventType::Normal, "SawCompletedJob", message));
        }
        let time = |text: &Option<String>| text.as_deref().and_then(parse_time);
        if succeeded(job) && time(&job.status.completion_time) > time(&status.last_successful_time) {
            status.last_successful_time.clone_from(&job.status.completion_time);
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::batch_v1::JobCondition;
    use coracle_api::core_v1::ObjectReference;

    fn job(name: &str, ended: Option<&str>, at: &str) -> Arc<Job> {
        let mut job = Job::default();
        job.metadata.name = Some(name.to_owned());
        job.metadata.uid = Some(name.to_owned());
        job.status.start_time = Some(at.to_owned());
        job.status.completion_time = Some(at.to_owned());
        let condition = |type_: &str| JobCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            ..JobCondition::default()
        };
        job.status.conditions = ended.map(condition).into_iter().collect();
        Arc::new(job)
    }

    #[test]
    fn the_oldest_of_each_sort_go_first_and_running_ones_never() {
        let mut cron = CronJob::default();
        cron.spec.successful_jobs_history_limit = Some(1);
        let jobs = [
            job("new", Some("Complete"), "2026-01-01T02:00:00Z"),
            job("old", Some("Complete"), "2026-01-01T01:00:00Z"),
            job("failed", Some("Failed"), "2026-01-01T00:00:00Z"),
            job("running", None, "2026-01-01T00:00:00Z"),
        ];
        let names = |cron: &CronJob| -> Vec<_> {
            surplus(cron, &jobs).iter().map(|job| job.metadata.name.clone().unwrap()).collect()
        };
        assert_eq!(names(&cron), ["old"]);
        cron.spec.failed_jobs_history_limit = Some(0);
        assert_eq!(names(&cron), ["old", "failed"]);
    }

    #[test]
    fn a_job_that_ended_is_active_no_more_and_the_latest_success_is_kept() {
        let reference = |uid: &str| ObjectReference { uid: uid.to_owned(), ..ObjectReference::default() };
        let mut status = CronJobStatus { active: vec![reference("done"), reference("gone")], ..Default::default() };
        let jobs = [
            job("done", Some("Complete"), "2026-01-01T02:00:00Z"),
            job("by-hand", Some("Complete"), "2026-01-01T01:00:00Z"),
            job("unknown", None, "2026-01-01T03:00:00Z"),
        ];
        let reasons: Vec<_> = observe(&mut status, &jobs).into_iter().map(|(_, reason, _)| reason).collect();
        assert_eq!(reasons, ["SawCompletedJob", "UnexpectedJob"]);
        assert_eq!(status.active, [reference("gone")]);
        assert_eq!(status.last_successful_time.as_deref(), Some("2026-01-01T02:00:00Z"));
    }
}
