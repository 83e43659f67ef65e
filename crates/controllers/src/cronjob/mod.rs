//! Creates a Job at each scheduled time of a CronJob.
//!
//! Watches CronJobs and their Jobs. A CronJob is processed when it or one of its Jobs changes, and shortly after its
//! next scheduled time ([`due`]). [`status`] computes its status from its Jobs. In Kubernetes:
//! `pkg/controller/cronjob`. Unlike Kubernetes: a foreign Job with the name of the next Job does not block later
//! times.

mod due;
mod status;

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::batch_v1::{CronJob, CronJobStatus, Job};
use coracle_client::{DeleteParams, Propagation};
use coracle_controller_runtime::ownership::controller_reference;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
    reference_to,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::cron::{Schedule, time_zone};
use coracle_meta::{ObjectKey, Resource, format_time, go_quote, parse_time};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use self::due::{Missed, until_next};
use self::status::{forget, observe, surplus};
use crate::Config;
use crate::again::again;
use crate::index::{controlled_by, index_by_controller};

/// The annotation with the scheduled time of a Job.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The CronJob controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let crons = process.informers.informer::<CronJob>();
    let jobs = process.informers.informer::<Job>();
    index_by_controller(&jobs);
    let clock = process.ambient.clock.clone();
    let events = EventRecorder::new(process, "cronjob-controller");
    let reconciler =
        CronJobs { crons: crons.lister(), jobs: jobs.lister(), events: events.clone(), clock: clock.clone() };
    let controller = Controller::new(process, "cronjob", reconciler)
        .client(config.client(process))
        .reads(&crons)
        .watches(&jobs, |notification| controllers_of(notification, CronJob::KIND))
        .workers(5);
    let queue = controller.queue();
    crons.add_handler(controller.actor(), move |notification, causes| {
        let delay = match rescheduled(notification) {
            None => SignedDuration::ZERO,
            Some(Ok(schedule)) => match until_next(notification.object(), clock.now(), &schedule) {
                Some(left) => left,
                None => return,
            },
            Some(Err(_)) => {
                let cron = notification.object();
                let message = format!("unparseable schedule for cronjob: {}", cron.spec.schedule);
                events.event(cron.as_ref(), EventType::Warning, "UnParseableCronJobSchedule", message);
                return;
            }
        };
        for key in key_of(notification) {
            queue.add_after(key, Duration::try_from(delay).unwrap_or_default(), causes);
        }
    });
    Box::pin(controller.run())
}

/// The new schedule, if it has changed. It starts with its next time; times that it would have missed are skipped.
fn rescheduled(notification: &Notification<CronJob>) -> Option<Result<Schedule, String>> {
    let Notification::Updated { old, new } = notification else { return None };
    let is_same = old.spec.schedule == new.spec.schedule && old.spec.time_zone == new.spec.time_zone;
    (!is_same).then(|| Schedule::parse(&zoned(new)))
}

/// The schedule with its time zone. In Kubernetes: `formatSchedule`.
fn zoned(cron: &CronJob) -> String {
    let schedule = &cron.spec.schedule;
    match &cron.spec.time_zone {
        Some(zone) if !schedule.contains("TZ") && time_zone(zone).is_ok() => format!("TZ={zone} {schedule}"),
        _ => schedule.clone(),
    }
}

struct CronJobs {
    crons: Lister<CronJob>,
    jobs: Lister<Job>,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for CronJobs {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(cron) = self.crons.get(key) else { return pass.gone() };
        let mut run = Run {
            pass,
            events: self.events.in_pass(pass),
            status: cron.status.clone(),
            cron: &cron,
            now: self.clock.now(),
        };
        let jobs = controlled_by(&self.jobs, cron.metadata.uid.as_deref().unwrap_or_default());
        for job in surplus(&cron, &jobs) {
            run.delete(&job).await;
        }
        for (event_type, reason, message) in observe(&mut run.status, &jobs) {
            run.tell(event_type, reason, message);
        }
        let next = run.start(&jobs).await;
        let status = run.status;
        pass.update_status(cron.as_ref(), |cron| cron.status.clone_from(&status)).await?;
        Ok(again(next?))
    }
}

/// One pass over a CronJob.
struct Run<'a> {
    pass: &'a Pass,
    events: EventRecorder,
    cron: &'a CronJob,
    status: CronJobStatus,
    now: Timestamp,
}

impl Run<'_> {
    fn tell(&self, event_type: EventType, reason: &str, message: impl Into<String>) {
        self.events.event(self.cron, event_type, reason, message);
    }

    /// Deletes a Job with its pods; false if that failed.
    async fn delete(&mut self, job: &Job) -> bool {
        let params = DeleteParams::propagating(Propagation::Background);
        match self.pass.delete_if_there::<Job>(&job.key(), &params).await {
            Ok(was_there) => {
                forget(&mut self.status, job);
                if was_there {
                    self.tell(EventType::Normal, "SuccessfulDelete", format!("Deleted job {}", job.key().name));
                }
                true
            }
            Err(error) => {
                self.tell(EventType::Warning, "FailedDelete", format!("Deleted job: {error}"));
                false
            }
        }
    }

    /// Creates the Job that is due, if any; returns how long until the next.
    async fn start(&mut self, jobs: &[Arc<Job>]) -> Result<Option<SignedDuration>, ReconcileError> {
        self.miss(jobs).await?;
        let Some(schedule) = self.schedule() else { return Ok(None) };
        let next = until_next(self.cron, self.now, &schedule);
        let Some(time) = self.due(&schedule) else { return Ok(next) };
        if self.cron.spec.concurrency_policy == "Replace" {
            for active in self.status.active.clone() {
                let key = ObjectKey::new(active.namespace.as_str(), active.name.as_str());
                let job = match self.pass.api::<Job>().get(&key).await {
                    Ok(job) => job,
                    Err(error) => {
                        self.tell(EventType::Warning, "FailedGet", format!("Get job: {error}"));
                        return Err(error.into());
                    }
                };
                if !self.delete(&job).await {
                    return Err(ReconcileError::Object(format!("could not replace job {key}")));
                }
            }
        }
        if let Some(job) = self.create(time).await? {
            self.status.active.push(reference_to(&job));
            self.status.last_schedule_time = Some(format_time(time));
        }
        Ok(next)
    }

    /// Removes active Jobs that no longer exist from the status.
    async fn miss(&mut self, jobs: &[Arc<Job>]) -> Result<(), ReconcileError> {
        for active in self.status.active.clone() {
            if jobs.iter().any(|job| job.metadata.uid.as_ref() == Some(&active.uid)) {
                continue;
            }
            // Read live: the cache may not have it yet.
            let key = ObjectKey::new(active.namespace.as_str(), active.name.as_str());
            let is_legible = !key.name.is_empty() && !key.namespace.is_empty();
            if !is_legible || self.pass.api::<Job>().find(&key).await?.is_none() {
                self.tell(EventType::Normal, "MissingJob", format!("Active job went missing: {}", active.name));
                self.status.active.retain(|one| one.uid != active.uid);
            }
        }
        Ok(())
    }

    /// The schedule, if the CronJob is active and the schedule is valid.
    fn schedule(&self) -> Option<Schedule> {
        let spec = &self.cron.spec;
        if self.cron.metadata.is_terminating() {
            return None;
        }
        if let Some(zone) = &spec.time_zone
            && let Err(why) = time_zone(zone)
        {
            self.tell(EventType::Warning, "UnknownTimeZone", format!("invalid timeZone: {}: {why}", go_quote(zone)));
            return None;
        }
        if spec.suspend == Some(true) {
            self.pass.decided(|| "it is suspended: nothing");
            return None;
        }
        let quoted = go_quote(&spec.schedule);
        if spec.schedule.contains("TZ") {
            let message = format!(
                "CRON_TZ or TZ used in schedule {quoted} is not officially supported, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            );
            self.tell(EventType::Warning, "UnsupportedSchedule", message);
        }
        let schedule = Schedule::parse(&zoned(self.cron));
        let refuse = |why: &String| {
            self.tell(EventType::Warning, "UnparseableSchedule", format!("unparseable schedule: {quoted} : {why}"))
        };
        schedule.inspect_err(refuse).ok()
    }

    /// The time for which a Job must be created now.
    fn due(&self, schedule: &Schedule) -> Option<Timestamp> {
        let spec = &self.cron.spec;
        let missed = match Missed::at(self.cron, self.now, schedule, true) {
            Ok(missed) => missed,
            Err(why) => {
                let message = format!("invalid schedule: {} : {why}", spec.schedule);
                self.tell(EventType::Warning, "InvalidSchedule", message);
                return None;
            }
        };
        let Some(time) = missed.latest else {
            self.pass.decided(|| "no time of its schedule has come");
            return None;
        };
        if missed.is_too_much() {
            let message =
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.tell(EventType::Warning, "TooManyMissedTimes", message);
        }
        let deadline = spec.starting_deadline_seconds.map(SignedDuration::from_secs);
        if deadline.is_some_and(|deadline| self.now.duration_since(time) > deadline) {
            let said = time.strftime("%a, %d %b %Y %H:%M:%S +0000");
            self.tell(EventType::Warning, "MissSchedule", format!("Missed scheduled time to start a job: {said}"));
            return None;
        }
        let name = self.name_of(time);
        let namespace = self.cron.metadata.namespace.as_deref().unwrap_or_default();
        let mut active = self.status.active.iter();
        if active.any(|job| job.name == name && job.namespace == namespace)
            || self.status.last_schedule_time.as_deref().and_then(parse_time) == Some(time)
        {
            self.pass.decided(|| format!("{} has been served", format_time(time)));
            return None;
        }
        if spec.concurrency_policy == "Forbid" && !self.status.active.is_empty() {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.tell(EventType::Normal, "JobAlreadyActive", message);
            return None;
        }
        self.pass.decided(|| format!("{} has come: create {name}", format_time(time)));
        Some(time)
    }

    /// The name is derived from the time, so that no Job is created twice.
    fn name_of(&self, time: Timestamp) -> String {
        format!("{}-{}", self.cron.key().name, time.as_second() / 60)
    }

    /// Creates the Job for a time; `None` if a foreign Job has that name, or the Job is already listed as active.
    async fn create(&self, time: Timestamp) -> Result<Option<Job>, ReconcileError> {
        let template = &self.cron.spec.job_template;
        let mut job = Job { spec: template.spec.clone(), ..Job::default() };
        job.metadata.name = Some(self.name_of(time));
        job.metadata.namespace.clone_from(&self.cron.metadata.namespace);
        job.metadata.labels.clone_from(&template.metadata.labels);
        job.metadata.annotations.clone_from(&template.metadata.annotations);
        let zone =
            time_zone(self.cron.spec.time_zone.as_deref().unwrap_or_default()).map_err(ReconcileError::Object)?;
        let clock = time.to_zoned(zone);
        let offset = if clock.offset().is_zero() { "Z".to_owned() } else { clock.strftime("%:z").to_string() };
        let text = format!("{}{offset}", clock.strftime("%Y-%m-%dT%H:%M:%S"));
        job.metadata.annotations.insert(SCHEDULED.to_owned(), text);
        job.metadata.owner_references = vec![controller_reference(self.cron)];
        match self.pass.api::<Job>().create(&job).await {
            Ok(created) => {
                self.tell(EventType::Normal, "SuccessfulCreate", format!("Created job {}", created.key().name));
                Ok(Some(created))
            }
            Err(error) if error.is_already_exists() => {
                let there = self.pass.api::<Job>().get(&job.key()).await?;
                let is_mine = there.metadata.controller().map(|owner| &owner.uid) == self.cron.metadata.uid.as_ref();
                let is_noted = self.status.active.iter().any(|active| Some(&active.uid) == there.metadata.uid.as_ref());
                Ok((is_mine && !is_noted).then_some(there))
            }
            Err(error) => {
                if !error.is_namespace_terminating() {
                    self.tell(EventType::Warning, "FailedCreate", format!("Error creating job: {error}"));
                }
                Err(error.into())
            }
        }
    }
}
