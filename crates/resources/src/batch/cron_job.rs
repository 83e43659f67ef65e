use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, containers, flag_word, selector, set_or, since};
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `cronjobs.batch`. In Kubernetes: `pkg/registry/batch/cronjob`.
pub(crate) const CRON_JOB: Rules = Rules {
    set_defaults,
    generation: BY_SPEC,
    warnings,
    columns: columns::CRON_JOB,
    cells,
    ..Rules::of("batch", "v1", "cronjobs")
};

fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        spec.fill_text("concurrencyPolicy", "Allow");
        spec.fill("suspend", false);
        spec.fill("successfulJobsHistoryLimit", 3);
        spec.fill("failedJobsHistoryLimit", 1);
    });
}

fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let mut warnings = super::job::warnings(new, old, "spec.jobTemplate.spec");
    if old.is_some() && new.text(&["spec", "schedule"]).contains("TZ") {
        warnings.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
    }
    warnings
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let last = object.at("status.lastScheduleTime");
    let last = if last.is_null() { "<none>".to_owned() } else { since(last, now) };
    let job = object.at("spec.jobTemplate.spec");
    let [names, images] = containers(job.list("template.spec.containers"));
    vec![
        object.name().into(),
        object.text(&["spec", "schedule"]).into(),
        set_or(object.at("spec.timeZone"), "<none>"),
        flag_word(object.at("spec.suspend")),
        object.list("status.active").len().into(),
        last.into(),
        age(object, now),
        names,
        images,
        selector(job.at("selector")),
    ]
}
