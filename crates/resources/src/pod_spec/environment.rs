//! Environment variables, and the fields and resources that can be handed to a container.
//! In Kubernetes: `ValidateEnv`, `ValidateEnvFrom`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, required};

/// The fields of a pod that an environment variable can hold.
const FIELDS: [&str; 9] = [
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

/// The fields of a pod that a file can hold.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// What is wrong with the variables of a container.
pub(super) fn wrong_variables(container: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, variable) in container.list("env").iter().enumerate() {
        let path = format!("{path}.env[{at}]");
        let name = variable.text("name");
        if name.is_empty() {
            wrong.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            wrong.extend(each_invalid(&format!("{path}.name"), name, names::env_var_name(name)));
        }
        wrong.extend(wrong_source(variable, &format!("{path}.valueFrom")));
    }
    let all = format!("{path}.envFrom");
    for (at, source) in container.list("envFrom").iter().enumerate() {
        let path = format!("{all}[{at}]");
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            wrong.extend(each_invalid(&format!("{path}.prefix"), prefix, names::env_var_name(prefix)));
        }
        let mut count = 0;
        for kind in ["configMapRef", "secretRef"] {
            let reference = source.at(kind);
            if reference.is_null() {
                continue;
            }
            count += 1;
            let path = format!("{path}.{kind}");
            let missing = required(reference, "name", &path);
            let name = reference.text("name");
            wrong.extend(if missing.is_empty() {
                each_invalid(&format!("{path}.name"), name, names::dns1123_subdomain(name))
            } else {
                missing
            });
        }
        match count {
            0 => wrong.push(FieldError::invalid(&all, "", "must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => wrong.push(FieldError::invalid(&all, "", "may not have more than one field specified at a time")),
        }
    }
    wrong
}

fn wrong_source(variable: &Value, path: &str) -> Wrong {
    let source = variable.at("valueFrom");
    if source.is_null() {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    let mut count = 0;
    for kind in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let reference = source.at(kind);
        if reference.is_null() {
            continue;
        }
        count += 1;
        let path = format!("{path}.{kind}");
        wrong.extend(match kind {
            "fieldRef" => wrong_field(reference, &FIELDS, &path),
            "resourceFieldRef" => wrong_resource_field(reference, &path),
            "fileKeyRef" => {
                ["key", "path", "volumeName"].iter().flat_map(|field| required(reference, field, &path)).collect()
            }
            _ => wrong_key(reference, &path),
        });
    }
    let what = match count {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !variable.text("value").is_empty() => "may not be specified when `value` is not empty",
        1 => return wrong,
        _ => "may not have more than one field specified at a time",
    };
    wrong.push(FieldError::invalid(path, "", what));
    wrong
}

fn wrong_key(reference: &Value, path: &str) -> Wrong {
    let name = reference.text("name");
    let mut wrong = each_invalid(&format!("{path}.name"), name, names::dns1123_subdomain(name));
    let key = reference.text("key");
    if key.is_empty() {
        wrong.push(FieldError::required(format!("{path}.key"), ""));
    } else {
        wrong.extend(each_invalid(&format!("{path}.key"), key, names::config_map_key(key)));
    }
    wrong
}

/// What is wrong with a reference to a field of the pod.
pub(super) fn wrong_field(reference: &Value, known: &[&str], path: &str) -> Wrong {
    for field in ["apiVersion", "fieldPath"] {
        let missing = required(reference, field, path);
        if !missing.is_empty() {
            return missing;
        }
    }
    let field = reference.text("fieldPath");
    let field_path = format!("{path}.fieldPath");
    if let Some((map, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
        return match map {
            "metadata.annotations" => {
                each_invalid(path, &key.to_lowercase(), names::qualified_name(&key.to_lowercase()))
            }
            "metadata.labels" => each_invalid(path, key, names::qualified_name(key)),
            _ => not_convertible(field, &field_path),
        };
    }
    let is_field = FIELDS.contains(&field) || FILE_FIELDS.contains(&field) || field == "spec.restartPolicy";
    match (is_field, known.contains(&field)) {
        (_, true) => Wrong::new(),
        (true, false) => vec![FieldError::not_supported(field_path, field, known)],
        (false, false) => not_convertible(field, &field_path),
    }
}

fn not_convertible(field: &str, path: &str) -> Wrong {
    let what = format!("error converting fieldPath: field label not supported: {field}");
    vec![FieldError::invalid(path, field, what)]
}

/// What is wrong with a reference to a container's resource.
pub(super) fn wrong_resource_field(reference: &Value, path: &str) -> Wrong {
    let resource = reference.text("resource");
    if resource.is_empty() {
        return vec![FieldError::required(format!("{path}.resource"), "")];
    }
    let is_huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    let mut wrong = Wrong::new();
    if !RESOURCES.contains(&resource) && !is_huge {
        wrong.push(FieldError::not_supported(format!("{path}.resource"), resource, &RESOURCES));
    }
    let divisor = reference.text("divisor");
    let (allowed, kind): (&[&str], &str) = match resource.split_once('.').map(|(_, name)| name) {
        Some("cpu") => (&["1m", "1"], "cpu"),
        Some("memory") => {
            (&["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"], "memory")
        }
        Some("ephemeral-storage") => (
            &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"],
            "local ephemeral storage",
        ),
        _ => return wrong,
    };
    if !matches!(divisor, "" | "0") && !allowed.contains(&divisor) {
        let what = if kind == "cpu" {
            "only divisor's values 1m and 1 are supported with the cpu resource".to_owned()
        } else {
            format!(
                "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {kind} resource"
            )
        };
        wrong.push(FieldError::invalid(format!("{path}.divisor"), divisor, what));
    }
    wrong
}
