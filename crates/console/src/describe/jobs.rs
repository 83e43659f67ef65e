//! Jobs and CronJobs.

use coracle_meta::{human_duration, parse_time};
use serde_json::Value;

use super::labels::{metadata, selector, several};
use super::pod::template;
use super::times::rfc1123;
use super::{Description, Facts, events};
use crate::values::{list, map, name, namespace, number, show, text};

/// How many characters of finished indexes are shown.
const INDEXES: usize = 50;

pub(super) fn job(job: &Value, facts: &Facts) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(job));
    out.field(0, "Namespace", namespace(job));
    out.field(0, "Selector", selector(&job["spec"]["selector"]));
    metadata(&mut out, job);
    if let Some(controller) = events::controller(job) {
        out.field(0, "Controlled By", controller);
    }
    let spec = |field: &str| Some(&job["spec"][field]).filter(|value| !value.is_null()).map(show);
    if let Some(parallelism) = spec("parallelism") {
        out.field(0, "Parallelism", parallelism);
    }
    out.field(0, "Completions", spec("completions").unwrap_or("<unset>".to_owned()));
    for (title, field) in [
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ] {
        if let Some(value) = spec(field) {
            out.field(0, title, value);
        }
    }
    status(&mut out, job);
    template(&mut out, &job["spec"]["template"]);
    events::describe(&mut out, facts);
    out
}

fn status(out: &mut Description, job: &Value) {
    let status = &job["status"];
    for (title, field) in [("Start Time", "startTime"), ("Completed At", "completionTime")] {
        if status[field].is_string() {
            out.field(0, title, rfc1123(&status[field]));
        }
    }
    let times = parse_time(text(status, "/startTime")).zip(parse_time(text(status, "/completionTime")));
    if let Some((start, end)) = times {
        out.field(0, "Duration", human_duration(end.duration_since(start).as_secs()));
    }
    if let Some(seconds) = number(job, "/spec/activeDeadlineSeconds") {
        out.field(0, "Active Deadline Seconds", format!("{seconds}s"));
    }
    let count = |field: &str| number(status, field).unwrap_or_default();
    let ready = number(status, "/ready").map(|ready| format!(" ({ready} Ready)")).unwrap_or_default();
    let (active, succeeded, failed) = (count("/active"), count("/succeeded"), count("/failed"));
    out.field(0, "Pods Statuses", format!("{active} Active{ready} / {succeeded} Succeeded / {failed} Failed"));
    if text(job, "/spec/completionMode") == "Indexed" {
        let indexes = text(status, "/completedIndexes");
        let end = indexes.char_indices().find(|(at, sign)| *at >= INDEXES && *sign == ',').map(|(at, _)| at);
        let shown = match (indexes, end) {
            ("", _) => "<none>".to_owned(),
            (indexes, Some(end)) => format!("{}...", &indexes[..=end]),
            (indexes, None) => indexes.to_owned(),
        };
        out.field(0, "Completed Indexes", shown);
    }
}

pub(super) fn cron_job(job: &Value, facts: &Facts) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(job));
    out.field(0, "Namespace", namespace(job));
    metadata(&mut out, job);
    out.field(0, "Schedule", text(job, "/spec/schedule"));
    out.field(0, "Concurrency Policy", text(job, "/spec/concurrencyPolicy"));
    let suspended = match &job["spec"]["suspend"] {
        Value::Bool(true) => "True",
        Value::Bool(false) => "False",
        _ => "<unset>",
    };
    out.field(0, "Suspend", suspended);
    let unset = || "<unset>".to_owned();
    let or_unset = |value: Option<i64>, unit: &str| value.map_or_else(unset, |value| format!("{value}{unit}"));
    let spec = |field: &str| number(job, &format!("/spec/{field}"));
    out.field(0, "Successful Job History Limit", or_unset(spec("successfulJobsHistoryLimit"), ""));
    out.field(0, "Failed Job History Limit", or_unset(spec("failedJobsHistoryLimit"), ""));
    out.field(0, "Starting Deadline Seconds", or_unset(spec("startingDeadlineSeconds"), "s"));
    let inner = &job["spec"]["jobTemplate"]["spec"];
    let selector = map(inner, "/selector").map(|_| selector(&inner["selector"]));
    out.field(0, "Selector", selector.unwrap_or_else(unset));
    out.field(0, "Parallelism", or_unset(number(inner, "/parallelism"), ""));
    out.field(0, "Completions", or_unset(number(inner, "/completions"), ""));
    if let Some(seconds) = number(inner, "/activeDeadlineSeconds") {
        out.field(0, "Active Deadline Seconds", format!("{seconds}s"));
    }
    template(&mut out, &inner["template"]);
    let last = &job["status"]["lastScheduleTime"];
    out.field(0, "Last Schedule Time", if last.is_string() { rfc1123(last) } else { unset() });
    let active = list(job, "/status/active").iter().map(|job| text(job, "/name").to_owned()).collect::<Vec<_>>();
    let active = if active.is_empty() { Vec::new() } else { vec![active.join(", ")] };
    several(&mut out, "Active Jobs", active);
    events::describe(&mut out, facts);
    out
}
