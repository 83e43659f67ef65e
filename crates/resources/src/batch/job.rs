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
    Wrong, domain_prefixed_path, immutable, label_selector, matches_template, not_negative, one_of, same,
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
        prepare_create: |object, _, release| {
            pod_spec::drop_disabled(object, None, "spec.template.spec", release);
            select_own_pods(object);
        },
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release),
        canonicalize: take_template_labels,
        validate: wrong_job,
        validate_change,
        validate_status: wrong_status,
        orphans_by_default: true,
        delete_warnings,
        selectable: Some(&["status.successful"]),
        field: |object, name| (name == "status.successful").then(|| object.int("status.succeeded").to_string()),
        warnings: |new, old, release| warnings(new, old, "spec", release),
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
pub(super) fn warnings(new: &Object, old: Option<&Object>, path: &str, release: &Release) -> Vec<String> {
    let mut warnings = Vec::new();
    let job = new.at(path);
    let is_new = old.is_none_or(|old| old.at("spec") != new.at("spec"));
    let many = job.int("completions") > 100_000 && job.int("parallelism") > 10_000;
    if is_new && job.text("completionMode") == "Indexed" && many {
        warnings.push(format!("{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"));
    }
    warnings.extend(pod_spec::warnings_of_named_kind(new, old, &format!("{path}.template"), release));
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
fn wrong_job(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = wrong_job_spec(spec, "spec", release);
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
pub(super) fn wrong_job_spec(spec: &Value, path: &str, release: &Release) -> Wrong {
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
    wrong.extend(wrong_template(spec.at("template"), &at("template"), release));
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
fn validate_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let is_indexed = old.text("spec.completionMode") == "Indexed";
    let scales_along = new.at("spec.completions") == new.at("spec.parallelism");
    if !(is_indexed && scales_along) {
        wrong.extend(immutable(new, old, "spec.completions"));
    }
    wrong.extend(immutable(new, old, "spec.selector"));
    wrong.extend(wrong_template_change(new, old, release));
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        wrong.extend(immutable(new, old, &format!("spec.{field}")));
    }
    wrong
}

/// The template of a suspended Job without active pods can change: what places the pods, and the resources of their
/// containers. In Kubernetes: `validatePodTemplateUpdate`.
fn wrong_template_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    let is_suspended = old.flag("spec.suspend");
    let has_started = old.has("status.startTime");
    let is_idle =
        is_suspended && (!has_started || has_condition(old, "Suspended", "True")) && old.int("status.active") == 0;
    let may_move = if release.enabled("MutableSchedulingDirectivesForSuspendedJobs") {
        is_idle
    } else {
        is_suspended && !has_started
    };
    let may_resize = is_idle && release.enabled("MutablePodResourcesForSuspendedJobs");
    let comparable = |object: &Object| {
        let mut template = object.at("spec.template").clone();
        if may_move {
            remove_placement(&mut template);
        }
        if may_resize {
            remove_resources(&mut template);
        }
        template
    };
    if same(&comparable(new), &comparable(old)) {
        return Wrong::new();
    }
    immutable(new, old, if may_resize { "spec.template.spec" } else { "spec.template" })
}

fn remove_placement(template: &mut Value) {
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.drop_fields(&["labels", "annotations"]);
    }
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        spec.drop_fields(&["nodeSelector", "tolerations", "schedulingGates"]);
        if let Some(affinity) = spec.object_in("affinity") {
            affinity.remove("nodeAffinity");
        }
    }
}

fn remove_resources(template: &mut Value) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for list in ["containers", "initContainers"] {
        spec.each_in(list, |container| drop(container.remove("resources")));
    }
}
