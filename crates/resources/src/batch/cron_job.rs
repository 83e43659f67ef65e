use coracle_ambient::Timestamp;
use coracle_meta::cron::{Schedule, time_zone};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{Column, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::{containers, flag_word, images, selector, set_or, since};
use crate::field_checks::{Wrong, not_negative, required_one_of};
use crate::pod_spec;

/// `cronjobs.batch`. In Kubernetes: `pkg/registry/batch/cronjob`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        prepare_create: |object, _, release| {
            pod_spec::drop_disabled(object, None, "spec.jobTemplate.spec.template.spec", release)
        },
        prepare_update: |new, old, _, release| {
            pod_spec::drop_disabled(new, Some(old), "spec.jobTemplate.spec.template.spec", release)
        },
        validate: wrong,
        validate_create: |object, _| {
            let mut wrong = wrong_time_zone(object.at("spec.timeZone"));
            if object.name().len() > 52 {
                wrong.push(FieldError::invalid("metadata.name", object.name(), "must be no more than 52 characters"));
            }
            wrong.extend(wrong_schedule(object, false));
            wrong
        },
        validate_change: |new, old, _| {
            let mut wrong = wrong_schedule(new, old.text("spec.schedule").contains("TZ"));
            if new.at("spec.timeZone") != old.at("spec.timeZone") {
                wrong.extend(wrong_time_zone(new.at("spec.timeZone")));
            }
            wrong
        },
        warnings,
        columns: columns(),
        ..built_in(release, "batch", "v1", "cronjobs")
    }
}

fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        spec.fill_text("concurrencyPolicy", "Allow");
        spec.fill("suspend", false);
        spec.fill("successfulJobsHistoryLimit", 3);
        spec.fill("failedJobsHistoryLimit", 1);
    });
}

fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    let mut warnings = super::job::warnings(new, old, "spec.jobTemplate.spec", release);
    if old.is_some() && new.text("spec.schedule").contains("TZ") {
        warnings.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
    }
    warnings
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Schedule",
            "The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.",
            |object| object.text("spec.schedule").into(),
        ),
        TableColumn::text(
            "Timezone",
            "The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones",
            |object| set_or(object.at("spec.timeZone"), "<none>"),
        ),
        TableColumn::boolean(
            "Suspend",
            "This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false.",
            |object| flag_word(object.at("spec.suspend")),
        ),
        TableColumn::integer(
            "Active",
            "A list of pointers to currently running jobs.",
            |object| object.list("status.active").len().into(),
        ),
        TableColumn::new(
            Column::new("Last Schedule", "string", "Information when was the last time the job was successfully scheduled."),
            |object, now| last_schedule(object, now).into(),
        ),
        TableColumn::age(),
        containers("spec.jobTemplate.spec.template.spec.containers").wide(),
        images("spec.jobTemplate.spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
            |object| selector(object.at("spec.jobTemplate.spec.selector")),
        ).wide(),
    ]
}

fn last_schedule(object: &Object, now: Timestamp) -> String {
    let last = object.at("status.lastScheduleTime");
    if last.is_null() { "<none>".to_owned() } else { since(last, now) }
}

/// In Kubernetes: `validateCronJobSpec`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    for count in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        wrong.extend(not_negative(spec, count, "spec"));
    }
    wrong.extend(required_one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"]));
    let job = spec.at("jobTemplate.spec");
    wrong.extend(super::job::wrong_job_spec(job, "spec.jobTemplate.spec", release));
    if job.has("selector") {
        let what = "`selector` will be auto-generated";
        wrong.push(FieldError::invalid("spec.jobTemplate.spec.selector", job.at("selector").clone(), what));
    }
    if job.flag("manualSelector") {
        let path = "spec.jobTemplate.spec.manualSelector";
        wrong.push(FieldError::not_supported(path, true, &["nil", "false"]));
    }
    wrong
}

fn wrong_schedule(object: &Object, may_have_zone: bool) -> Wrong {
    const PATH: &str = "spec.schedule";
    let schedule = object.text("spec.schedule");
    if schedule.is_empty() {
        return vec![FieldError::required(PATH, "")];
    }
    let mut wrong = Wrong::new();
    if let Err(what) = Schedule::parse(schedule) {
        wrong.push(FieldError::invalid(PATH, schedule, what));
    }
    if schedule.contains("TZ") && !may_have_zone {
        let what = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        wrong.push(FieldError::invalid(PATH, schedule, what));
    } else if schedule.contains("TZ") && object.has("spec.timeZone") {
        let what = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        wrong.push(FieldError::invalid(PATH, schedule, what));
    }
    wrong
}

/// A zone of the IANA database.
fn wrong_time_zone(zone: &Value) -> Wrong {
    const PATH: &str = "spec.timeZone";
    let Some(zone) = zone.as_str() else { return Wrong::new() };
    if zone.is_empty() {
        return vec![FieldError::invalid(PATH, zone, "timeZone must be nil or non-empty string")];
    }
    if zone.eq_ignore_ascii_case("Local") {
        let what = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        return vec![FieldError::invalid(PATH, zone, what)];
    }
    match time_zone(zone) {
        Ok(_) => Wrong::new(),
        Err(what) => vec![FieldError::invalid(PATH, zone, what)],
    }
}
