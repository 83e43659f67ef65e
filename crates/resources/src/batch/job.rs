use coracle_ambient::Timestamp;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, LabelSelector, Object, human_duration, names, parse_time};
use coracle_registry::{Column, DeleteOptions, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use super::failure_policy::wrong_failure_policy;
use super::job_status::wrong_status;
use crate::built_in::built_in;
use crate::cells::{containers, has_condition, images, selector};
use crate::field_checks::{
    Wrong, domain_prefixed_path, immutable, label_selector, matches_template, not_negative, one_of,
};
use crate::pod_spec::{self, wrong_template};

/// The warning of a deletion without a propagation policy.
const PODS_STAY: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

fn delete_warnings(options: &DeleteOptions) -> Vec<String> {
    let says = options.propagation.is_some() || options.orphan_dependents.is_some();
    if says { Vec::new() } else { vec![PODS_STAY.to_owned()] }
}

/// `jobs.batch`. In Kubernetes: `pkg/registry/batch/job`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            edit_spec(object, set_spec_defaults);
            take_template_labels(object);
        },
        prepare_create: |object, _, _| {
            pod_spec::drop_disabled(object, None, "spec.template.spec");
            select_own_pods(object);
        },
        prepare_update: |new, old, _, _| pod_spec::drop_disabled(new, Some(old), "spec.template.spec"),
        canonicalize: take_template_labels,
        validate: |object, _| wrong_job(object),
        validate_change: |new, old, _| validate_change(new, old),
        validate_status: |new, old, _| wrong_status(new, old),
        orphans_by_default: true,
        delete_warnings,
        selectable: Some(&["status.successful"]),
        field: |object, name| (name == "status.successful").then(|| object.int("status.succeeded").to_string()),
        warnings: |new, old, _| warnings(new, old, "spec"),
        columns: columns(),
        ..built_in(release, "batch", "v1", "jobs")
    }
}

/// The labels with the name of a Job, the older one first.
pub(super) const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
/// The labels with the uid of a Job.
pub(super) const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

fn set_spec_defaults(spec: &mut Tree) {
    if !spec.has("completions") && !spec.has("parallelism") {
        spec.fill("completions", 1);
    }
    spec.fill("parallelism", 1);
    let backoff_limit = if spec.has("backoffLimitPerIndex") { i32::MAX } else { 6 };
    spec.fill("backoffLimit", backoff_limit);
    spec.fill("completionMode", "NonIndexed");
    spec.fill("suspend", false);
    let replacement = if spec.has("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    spec.fill("podReplacementPolicy", replacement);
    spec.fill("manualSelector", false);
}

/// A Job without labels gets those of its template, including those of the generated selector, because Kubernetes sets
/// defaults when it reads a stored Job.
fn take_template_labels(object: &mut Object) {
    let labels = object.at("spec.template.metadata.labels");
    let has_own = object.at("metadata.labels").as_object().is_some_and(|own| !own.is_empty());
    if labels.is_object() && !has_own {
        let labels = labels.clone();
        object.set("metadata.labels", labels);
    }
}

/// Adds unique labels to the pods of the Job, and selects by them.
fn select_own_pods(object: &mut Object) {
    if object.flag("spec.manualSelector") {
        return;
    }
    let (name, uid) = (object.name().to_owned(), object.uid().to_owned());
    edit_spec(object, |spec| {
        let labels = spec
            .object_made("template")
            .and_then(|template| template.object_made("metadata"))
            .and_then(|metadata| metadata.object_made("labels"));
        if let Some(labels) = labels {
            NAME_LABELS.iter().for_each(|label| labels.fill(label, name.as_str()));
            UID_LABELS.iter().for_each(|label| labels.fill(label, uid.as_str()));
        }
        spec.fill("selector", json!({}));
        let selected = spec.object_in("selector").and_then(|selector| selector.object_made("matchLabels"));
        if let Some(selected) = selected {
            selected.fill(UID_LABELS[1], uid.as_str());
        }
    });
}

/// The warnings about a Job; `path` is that of its spec.
pub(super) fn warnings(new: &Object, old: Option<&Object>, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let job = new.at(path);
    let is_new = old.is_none_or(|old| old.at("spec") != new.at("spec"));
    let many = job.int("completions") > 100_000 && job.int("parallelism") > 10_000;
    if is_new && job.text("completionMode") == "Indexed" && many {
        warnings.push(format!("{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"));
    }
    warnings.extend(pod_spec::warnings_of_named_kind(new, old, &format!("{path}.template")));
    warnings
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Status", "Status of the job.", |object| state(object).into()),
        TableColumn::text(
            "Completions",
            "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs.",
            |object| completions(object).into(),
        ),
        TableColumn::new(
            Column::new("Duration", "string", "Time required to complete the job."),
            |object, now| duration(object, now).into(),
        ),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
            |object| selector(object.at("spec.selector")),
        ).wide(),
    ]
}

fn state(object: &Object) -> &'static str {
    let is = |kind| has_condition(object, kind, "True");
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if object.is_terminating() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(object: &Object) -> String {
    let succeeded = object.int("status.succeeded");
    match (object.int_if_set("spec.completions"), object.int("spec.parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(object: &Object, now: Timestamp) -> String {
    let Some(start) = parse_time(object.text("status.startTime")) else { return String::new() };
    let end = parse_time(object.text("status.completionTime")).unwrap_or(now);
    human_duration(end.as_second() - start.as_second())
}

/// In Kubernetes: `ValidateJob`.
fn wrong_job(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = wrong_job_spec(spec, "spec");
    let selector = spec.at("selector");
    if selector.is_null() {
        wrong.push(FieldError::required("spec.selector", ""));
    } else {
        wrong.extend(label_selector(selector, "spec.selector"));
    }
    if let Ok(parsed) = LabelSelector::from_json((!selector.is_null()).then_some(selector)) {
        wrong.extend(matches_template(&parsed, spec.at("template"), "spec.template"));
    }
    let completions = spec.int("completions");
    if spec.text("completionMode") == "Indexed" && completions > 0 {
        let host = format!("{}-{}", object.name(), completions - 1);
        if !names::dns1123_label(&host).is_empty() {
            let what = format!("will not able to create pod with invalid DNS label: {host}");
            wrong.push(FieldError::invalid("metadata.name", object.name(), what));
        }
    }
    wrong
}

/// In Kubernetes: `validateJobSpec`, which also applies to the template of a CronJob.
pub(super) fn wrong_job_spec(spec: &Value, path: &str) -> Wrong {
    const COUNTS: [&str; 7] = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    let mut wrong: Wrong = COUNTS.iter().flat_map(|count| not_negative(spec, count, path)).collect();
    let at = |field: &str| format!("{path}.{field}");
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        wrong.push(FieldError::required(at("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
    }
    if spec.has("completionMode") {
        wrong.extend(one_of(spec, "completionMode", path, &["NonIndexed", "Indexed"]));
    }
    wrong.extend(wrong_for_completion_mode(spec, path));
    if spec.has("podReplacementPolicy") {
        let has_failure_policy = spec.has("podFailurePolicy");
        let known: &[&str] = if has_failure_policy { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        wrong.extend(one_of(spec, "podReplacementPolicy", path, known));
    }
    wrong.extend(wrong_failure_policy(spec, &at("podFailurePolicy")));
    if let Some(name) = spec.at("managedBy").as_str() {
        wrong.extend(domain_prefixed_path(name, &at("managedBy")));
        if name.len() > 63 {
            wrong.push(FieldError::too_long(at("managedBy"), 63));
        }
    }
    wrong.extend(wrong_template(spec.at("template"), &at("template")));
    wrong.extend(wrong_restart_policy(spec, &at("template.spec.restartPolicy")));
    wrong
}

/// The fields that only indexed Jobs can set, and those that they must set.
fn wrong_for_completion_mode(spec: &Value, path: &str) -> Wrong {
    let at = |field: &str| format!("{path}.{field}");
    let mut wrong = Wrong::new();
    if spec.text("completionMode") == "Indexed" {
        if !spec.has("completions") {
            wrong.push(FieldError::required(at("completions"), "when completion mode is Indexed"));
        }
        if spec.int("parallelism") > 100_000 {
            let what = "must be less than or equal to 100000 when completion mode is Indexed";
            wrong.push(FieldError::invalid(at("parallelism"), spec.int("parallelism"), what));
        }
        if spec.has("completions") && spec.int("maxFailedIndexes") > spec.int("completions") {
            let what = "must be less than or equal to completions";
            wrong.push(FieldError::invalid(at("maxFailedIndexes"), spec.int("maxFailedIndexes"), what));
        }
    } else {
        let what = "requires indexed completion mode";
        for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            if spec.has(field) {
                wrong.push(FieldError::invalid(at(field), spec.at(field).clone(), what));
            }
        }
    }
    wrong
}

/// The pods of a Job must not restart forever.
fn wrong_restart_policy(spec: &Value, path: &str) -> Wrong {
    match spec.text("template.spec.restartPolicy") {
        "" | "Always" => vec![FieldError::required(path, r#"valid values: "OnFailure", "Never""#)],
        "OnFailure" if spec.has("podFailurePolicy") => {
            let what = r#"only "Never" is supported when podFailurePolicy is specified"#;
            vec![FieldError::invalid(path, "OnFailure", what)]
        }
        "OnFailure" | "Never" => Wrong::new(),
        other => vec![FieldError::not_supported(path, other, &["OnFailure", "Never"])],
    }
}

/// In Kubernetes: `ValidateJobSpecUpdate`.
fn validate_change(new: &Object, old: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    let is_indexed = old.text("spec.completionMode") == "Indexed";
    let scales_along = new.at("spec.completions") == new.at("spec.parallelism");
    if !(is_indexed && scales_along) {
        wrong.extend(immutable(new, old, "spec.completions"));
    }
    wrong.extend(immutable(new, old, "spec.selector"));
    if !same_template(new, old) {
        wrong.extend(immutable(new, old, "spec.template"));
    }
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        wrong.extend(immutable(new, old, &format!("spec.{field}")));
    }
    wrong
}

/// The scheduling constraints in the template of a suspended Job that has never started can change.
fn same_template(new: &Object, old: &Object) -> bool {
    let may_move = old.flag("spec.suspend") && !old.has("status.startTime");
    if !may_move {
        return false;
    }
    let without = |object: &Object| {
        let mut template = object.at("spec.template").clone();
        for (holder, fields) in [
            ("metadata", &["labels", "annotations"][..]),
            ("spec", &["nodeSelector", "affinity", "tolerations", "schedulingGates"][..]),
        ] {
            if let Some(tree) = template.get_mut(holder).and_then(Value::as_object_mut) {
                tree.drop_fields(fields);
            }
        }
        template
    };
    without(new) == without(old)
}
