//! The downward API: fields of the pod and resources of its containers in variables and files.
//! In Kubernetes: `validateObjectFieldSelector`, `validateContainerResourceFieldSelector`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, required};

/// The fields of a pod for environment variables.
pub(super) const VARIABLE_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields of a pod for files.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// The fields that convert to the internal version, but are for neither.
const OTHER_FIELDS: [&str; 3] = ["spec.restartPolicy", "spec.schedulerName", "status.phase"];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const BYTE_DIVISORS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// The errors of a reference to a field of the pod.
pub(super) fn wrong_field(reference: &Value, known: &[&str], path: &str) -> Wrong {
    for field in ["apiVersion", "fieldPath"] {
        let missing = required(reference, field, path);
        if !missing.is_empty() {
            return missing;
        }
    }
    let (version, field) = (reference.text("apiVersion"), reference.text("fieldPath"));
    let field_path = format!("{path}.fieldPath");
    let not_convertible =
        |why: String| vec![FieldError::invalid(&field_path, field, format!("error converting fieldPath: {why}"))];
    if version != "v1" {
        return not_convertible(format!("unsupported pod version: {version}"));
    }
    let subscripted = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    if let Some((map, key)) = subscripted.filter(|(map, _)| !map.is_empty()) {
        return match map {
            "metadata.annotations" => {
                each_invalid(path, &key.to_lowercase(), names::qualified_name(&key.to_lowercase()))
            }
            "metadata.labels" => each_invalid(path, key, names::qualified_name(key)),
            _ => not_convertible(format!("field label does not support subscript: {field}")),
        };
    }
    // The older name of a field.
    let internal = if field == "spec.host" { "spec.nodeName" } else { field };
    if known.contains(&internal) {
        return Wrong::new();
    }
    if [&VARIABLE_FIELDS[..], &FILE_FIELDS, &OTHER_FIELDS].iter().any(|fields| fields.contains(&internal)) {
        return vec![FieldError::not_supported(field_path, internal, known)];
    }
    not_convertible(format!("field label not supported: {field}"))
}

/// The errors of a reference to a resource of a container, which a file must name.
pub(super) fn wrong_resource_field(reference: &Value, is_file: bool, path: &str) -> Wrong {
    let resource = reference.text("resource");
    let is_huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    let mut wrong = Wrong::new();
    if is_file && reference.text("containerName").is_empty() {
        wrong.push(FieldError::required(format!("{path}.containerName"), ""));
    } else if resource.is_empty() {
        wrong.push(FieldError::required(format!("{path}.resource"), ""));
    } else if !RESOURCES.contains(&resource) && !is_huge {
        wrong.push(FieldError::not_supported(format!("{path}.resource"), resource, &RESOURCES));
    }
    wrong.extend(wrong_divisor(reference, resource, is_huge, path));
    wrong
}

/// In Kubernetes: `validateContainerResourceDivisor`, which shows the resource instead of the divisor.
fn wrong_divisor(reference: &Value, resource: &str, is_huge: bool, path: &str) -> Wrong {
    let Ok(divisor) = Quantity::parse(reference.text("divisor")) else { return Wrong::new() };
    let (allowed, kind): (&[&str], &str) = match resource.split_once('.').map(|(_, name)| name) {
        Some("cpu") if RESOURCES.contains(&resource) => (&["1m", "1"], "cpu"),
        Some("memory") if RESOURCES.contains(&resource) => (&BYTE_DIVISORS, "memory"),
        Some("ephemeral-storage") if RESOURCES.contains(&resource) => (&BYTE_DIVISORS, "local ephemeral storage"),
        _ if is_huge => (&BYTE_DIVISORS, "hugepages"),
        _ => return Wrong::new(),
    };
    if divisor.is_zero() || allowed.contains(&divisor.to_string().as_str()) {
        return Wrong::new();
    }
    let values = if kind == "cpu" { "1m and 1".to_owned() } else { allowed.join(", ") };
    let what = format!("only divisor's values {values} are supported with the {kind} resource");
    vec![FieldError::invalid(format!("{path}.divisor"), resource, what)]
}
