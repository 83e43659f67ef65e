//! Environment variables. In Kubernetes: `ValidateEnv`, `ValidateEnvFrom`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::downward::{VARIABLE_FIELDS, wrong_field, wrong_resource_field};
use super::paths::without_backsteps;
use crate::field_checks::{Wrong, each_invalid, required};

/// The errors of the variables of a container.
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
                each_invalid(&format!("{path}.name"), name, names::dns1123_subdomain(&as_prefix(name)))
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

/// A name that may end in a dash, because a suffix is added. In Kubernetes: `maskTrailingDash`.
fn as_prefix(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept = rest.to_owned();
            kept.pop();
            kept + "a"
        }
        _ => name.to_owned(),
    }
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
            "fieldRef" => wrong_field(reference, &VARIABLE_FIELDS, &path),
            "resourceFieldRef" => wrong_resource_field(reference, false, &path),
            "fileKeyRef" => wrong_file_key(reference, &path),
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

/// In Kubernetes: `validateFileKeySelector`.
fn wrong_file_key(reference: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for field in ["key", "volumeName", "path"] {
        let value = reference.text(field);
        let path = format!("{path}.{field}");
        wrong.extend(match field {
            _ if value.is_empty() => vec![FieldError::required(path, "")],
            "key" => each_invalid(&path, value, names::env_var_name(value)),
            "volumeName" => each_invalid(&path, value, names::dns1123_label(value)),
            _ => without_backsteps(value, &path),
        });
    }
    wrong
}

/// The volumes of files with variables must be empty directories. In Kubernetes: `validateFileKeyRefVolumes`.
pub(super) fn wrong_variable_volumes(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (path, container) in super::all_containers(spec, path) {
        for (at, variable) in container.list("env").iter().enumerate() {
            let reference = variable.at("valueFrom.fileKeyRef");
            if reference.is_null() {
                continue;
            }
            let path = format!("{path}.env[{at}].valueFrom.fileKeyRef.volumeName");
            let name = reference.text("volumeName");
            match spec.list("volumes").iter().rfind(|volume| volume.text("name") == name) {
                None => wrong.push(FieldError::not_found(path, name)),
                Some(volume) if !volume.has("emptyDir") => {
                    wrong.push(FieldError::invalid(path, name, "referenced volume must be of type emptyDir"));
                }
                Some(_) => {}
            }
        }
    }
    wrong
}
