//! The spec of a volume claim: in a claim, in the template of one, or in a volume of a pod. In Kubernetes:
//! `ValidatePersistentVolumeClaimSpec`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity, names};
use serde_json::Value;

use crate::field_checks::{
    Wrong, annotations, each_invalid, fraction_warning, label_selector, labels, one_of, required,
};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The errors of the template of a claim. In Kubernetes: `ValidatePersistentVolumeClaimTemplate`.
pub(crate) fn wrong_claim_template(template: &Value, path: &str) -> Wrong {
    // Names and order are those of Go.
    const OTHERS: [(&str, &str); 13] = [
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ];
    let metadata = template.at("metadata");
    let metadata_path = format!("{path}.metadata");
    let mut wrong = annotations(metadata.at("annotations"), &format!("{metadata_path}.annotations"));
    wrong.extend(labels(metadata.at("labels"), &format!("{metadata_path}.labels")));
    let is_set = |value: &Value| !(value.is_null() || value == "" || value == 0);
    let set = OTHERS.iter().filter(|(field, _)| is_set(metadata.at(field)));
    wrong.extend(set.map(|(_, name)| FieldError::forbidden(format!("{metadata_path}.{name}"), "cannot be set")));
    wrong.extend(wrong_claim_spec(template.at("spec"), &format!("{path}.spec")));
    wrong
}

/// The errors of the spec of a claim.
pub(crate) fn wrong_claim_spec(spec: &Value, path: &str) -> Wrong {
    let at = |field: &str| format!("{path}.{field}");
    let mut wrong = Wrong::new();
    if spec.list("accessModes").is_empty() {
        wrong.push(FieldError::required(at("accessModes"), "at least 1 access mode is required"));
    }
    if spec.has("selector") {
        wrong.extend(label_selector(spec.at("selector"), &at("selector")));
    }
    wrong.extend(wrong_access_modes(spec, path));
    let amount_path = at("resources[storage]");
    match spec.at("resources.requests").get("storage") {
        None => wrong.push(FieldError::required(amount_path, "")),
        Some(amount) => wrong.extend(above_zero(amount, &amount_path)),
    }
    wrong.extend(wrong_class(spec, "storageClassName", path));
    if spec.has("volumeMode") {
        wrong.extend(one_of(spec, "volumeMode", path, &["Block", "Filesystem"]));
    }
    wrong.extend(wrong_data_sources(spec, path));
    wrong.extend(wrong_class(spec, "volumeAttributesClassName", path));
    wrong
}

/// The warnings about a claim. In Kubernetes: `GetWarningsForPersistentVolumeClaimSpec`.
pub(crate) fn claim_warnings(spec: &Value, path: &str) -> Vec<String> {
    let lists = ["requests", "limits"].into_iter();
    let of_list =
        |list: &str| fraction_warning(spec.at("resources").at(list), "storage", &format!("{path}.resources.{list}"));
    lists.filter_map(of_list).collect()
}

fn wrong_class(spec: &Value, field: &str, path: &str) -> Wrong {
    match spec.text(field) {
        "" => Wrong::new(),
        class => each_invalid(&format!("{path}.{field}"), class, names::dns1123_subdomain(class)),
    }
}

/// `dataSource` and the newer `dataSourceRef`, which must be equal.
fn wrong_data_sources(spec: &Value, path: &str) -> Wrong {
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    let mut wrong = wrong_data_source(source, &format!("{path}.dataSource"));
    wrong.extend(wrong_data_source(reference, &format!("{path}.dataSourceRef")));
    let namespace = reference.text("namespace");
    if !namespace.is_empty() {
        let sentences = names::dns1123_label(namespace);
        wrong.extend(each_invalid(&format!("{path}.dataSourceRef.namespace"), namespace, sentences));
    }
    // Kubernetes passes the path as the value, which Go prints without exported fields.
    let mut refuse = |what: &str| wrong.push(FieldError::invalid(path, Value::Null, what).printed_as("{}"));
    let is_same = |field: &str| source.at(field) == reference.at(field);
    if source.is_null() || reference.is_null() {
        return wrong;
    }
    if !namespace.is_empty() {
        refuse("may not be specified when dataSourceRef.namespace is specified");
    } else if !["apiGroup", "kind", "name"].into_iter().all(is_same) {
        refuse("must match dataSourceRef");
    }
    wrong
}

/// In Kubernetes: `validateDataSource`.
fn wrong_data_source(source: &Value, path: &str) -> Wrong {
    if source.is_null() {
        return Wrong::new();
    }
    let mut wrong = required(source, "name", path);
    wrong.extend(required(source, "kind", path));
    let (group, kind) = (source.text("apiGroup"), source.text("kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let what = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        wrong.push(FieldError::invalid(path, kind, what));
    }
    if !group.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.apiGroup"), group, names::dns1123_subdomain(group)));
    }
    wrong
}

/// A positive quantity.
pub(crate) fn above_zero(amount: &Value, path: &str) -> Wrong {
    match amount.as_str().and_then(|text| Quantity::parse(text).ok()) {
        Some(quantity) if quantity.is_negative() || quantity.is_zero() => {
            vec![FieldError::invalid(path, quantity.to_string(), "must be greater than zero")]
        }
        _ => Wrong::new(),
    }
}

/// Known modes; `ReadWriteOncePod` must be the only one.
pub(crate) fn wrong_access_modes(spec: &Value, path: &str) -> Wrong {
    let path = format!("{path}.accessModes");
    let modes = spec.list("accessModes");
    let is_known = |mode: &&Value| ACCESS_MODES.iter().any(|known| known == *mode);
    let unknown = modes.iter().filter(|mode| !is_known(mode));
    let mut wrong: Wrong = unknown.map(|mode| FieldError::not_supported(&path, mode.clone(), &ACCESS_MODES)).collect();
    let (alone, others): (Vec<_>, Vec<_>) =
        modes.iter().filter(is_known).partition(|mode| **mode == "ReadWriteOncePod");
    if !alone.is_empty() && !others.is_empty() {
        wrong.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
    wrong
}
