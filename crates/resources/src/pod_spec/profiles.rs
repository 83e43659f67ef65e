//! Profiles of seccomp and AppArmor in fields, and in the annotations that preceded the fields.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::{Value, json};

use super::paths::relative_path;
use crate::field_checks::Wrong;

const KINDS: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

/// The errors of a seccomp profile. In Kubernetes: `validateSeccompProfileField`.
pub(super) fn wrong_seccomp(security: &Value, path: &str) -> Wrong {
    let profile = security.at("seccompProfile");
    if profile.is_null() {
        return Wrong::new();
    }
    let path = format!("{path}.seccompProfile");
    let kind = profile.text("type");
    let mut wrong = wrong_type(kind, "seccompProfile", &path);
    let file_path = format!("{path}.localhostProfile");
    match (kind, profile.at("localhostProfile").as_str()) {
        ("Localhost", None) => {
            wrong.push(FieldError::required(file_path, "must be set when seccomp type is Localhost"));
        }
        ("Localhost", Some(file)) => wrong.extend(relative_path(file, &file_path)),
        (_, Some(file)) => {
            let printed = format!(r#"{{"Type":{},"LocalhostProfile":{}}}"#, json!(kind), json!(file));
            let what = "can only be set when seccomp type is Localhost";
            wrong.push(FieldError::invalid(file_path, profile.clone(), what).printed_as(printed));
        }
        (_, None) => {}
    }
    wrong
}

fn wrong_type(kind: &str, field: &str, path: &str) -> Wrong {
    let path = format!("{path}.type");
    match kind {
        "" => vec![FieldError::required(path, format!("type is required when {field} is set"))],
        kind if KINDS.contains(&kind) => Wrong::new(),
        kind => vec![FieldError::not_supported(path, kind, &KINDS)],
    }
}

/// The errors of an AppArmor profile. In Kubernetes: `ValidateAppArmorProfileField`.
pub(super) fn wrong_app_armor(security: &Value, path: &str) -> Wrong {
    const LONGEST_PATH: usize = 4095;
    let profile = security.at("appArmorProfile");
    if profile.is_null() {
        return Wrong::new();
    }
    let path = format!("{path}.appArmorProfile");
    let kind = profile.text("type");
    let mut wrong = wrong_type(kind, "appArmorProfile", &path);
    let file_path = format!("{path}.localhostProfile");
    match (kind, profile.at("localhostProfile").as_str()) {
        ("Localhost", file) => {
            let file = file.unwrap_or_default();
            if file.trim() != file {
                wrong.push(FieldError::invalid(&file_path, file, "must not be padded with whitespace"));
            } else if file.is_empty() {
                wrong.push(FieldError::required(&file_path, "must be set when AppArmor type is Localhost"));
            }
            if file.len() > LONGEST_PATH {
                wrong.push(FieldError::too_long(file_path, LONGEST_PATH));
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            wrong.push(FieldError::invalid(file_path, file, "can only be set when AppArmor type is Localhost"));
        }
        _ => {}
    }
    wrong
}

/// The prefix of the annotation with the AppArmor profile of a container.
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The annotation with the seccomp profile of a pod.
pub(super) const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The prefix of the annotation with the seccomp profile of a container.
pub(super) const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The profile in an AppArmor annotation. In Kubernetes: `ApparmorFieldForAnnotation`.
pub(super) fn app_armor_of(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        other => {
            let file = other.strip_prefix("localhost/").filter(|file| !file.is_empty())?;
            Some(json!({"type": "Localhost", "localhostProfile": file}))
        }
    }
}

/// The errors of a profile that differs from its annotation. In Kubernetes: `validateSeccompAnnotationsAndFieldsMatch`,
/// `validateAppArmorAnnotationsAndFieldsMatchOnCreate`.
fn wrong_pair(annotation: &str, profile: &Value, kind: &str, path: &str) -> Wrong {
    let refuse = |field: &str, what: &str| {
        let what = format!("{kind} {what} in annotation and field must match");
        vec![FieldError::forbidden(format!("{path}.{field}"), what)]
    };
    match profile.text("type") {
        "Unconfined" if annotation != "unconfined" => refuse("type", "type"),
        "RuntimeDefault" => {
            let is_older = kind == "seccomp" && annotation == "docker/default";
            if annotation == "runtime/default" || is_older { Wrong::new() } else { refuse("type", "type") }
        }
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => refuse("type", "type"),
            Some(file) if profile.at("localhostProfile").as_str() == Some(file) => Wrong::new(),
            Some(_) => refuse("localhostProfile", "profile"),
        },
        _ => Wrong::new(),
    }
}

/// The errors of profiles in both an annotation and a field.
pub(super) fn wrong_pairs(metadata: &Value, spec: &Value, path: &str) -> Wrong {
    let annotation = |name: &str| metadata.at("annotations").field_named(name).as_str();
    let mut wrong = Wrong::new();
    let of_pod = spec.at("securityContext.seccompProfile");
    if let Some(annotation) = annotation(SECCOMP_OF_POD) {
        wrong.extend(wrong_pair(annotation, of_pod, "seccomp", &format!("{path}.securityContext.seccompProfile")));
    }
    let containers = super::all_containers(spec, path);
    for (path, container) in &containers {
        if let Some(annotation) = annotation(&format!("{SECCOMP}{}", container.text("name"))) {
            let own = container.at("securityContext.seccompProfile");
            wrong.extend(wrong_pair(annotation, own, "seccomp", &format!("{path}.securityContext.seccompProfile")));
        }
    }
    if spec.text("os.name") == "windows" {
        return wrong;
    }
    for (path, container) in &containers {
        let own = container.at("securityContext.appArmorProfile");
        let profile = if own.is_null() { spec.at("securityContext.appArmorProfile") } else { own };
        if let Some(annotation) = annotation(&format!("{APP_ARMOR}{}", container.text("name"))) {
            let path = format!("{path}.securityContext.appArmorProfile");
            wrong.extend(wrong_pair(annotation, profile, "apparmor", &path));
        }
    }
    wrong
}
