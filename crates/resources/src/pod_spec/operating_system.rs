//! The fields that pods of an operating system must not set. In Kubernetes: `validateOS`, `validateLinux`,
//! `validateWindows`.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::field_checks::Wrong;

/// The fields of a pod that only Linux has, in Kubernetes' order: those of the security context, and of the spec.
const POD_FIELDS: [&str; 15] = [
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
];

/// The fields of the security context of a container that only Linux has.
const CONTAINER_FIELDS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The errors of the operating system of a pod, and of fields that are only for another one.
pub(super) fn wrong_operating_system(spec: &Value, path: &str) -> Wrong {
    if !spec.has("os") {
        return Wrong::new();
    }
    match spec.text("os.name") {
        "" => vec![FieldError::required(format!("{path}.os.name"), "")],
        "linux" => wrong_linux(spec, path),
        "windows" => wrong_windows(spec, path),
        other => vec![FieldError::not_supported(format!("{path}.os"), other, &["linux", "windows"])],
    }
}

fn wrong_linux(spec: &Value, path: &str) -> Wrong {
    let mut holders = vec![(path.to_owned(), spec)];
    holders.extend(super::all_containers(spec, path));
    let set = holders.into_iter().filter(|(_, holder)| holder.has("securityContext.windowsOptions"));
    let what = "windows options cannot be set for a linux pod";
    set.map(|(path, _)| FieldError::forbidden(format!("{path}.securityContext.windowsOptions"), what)).collect()
}

fn wrong_windows(spec: &Value, path: &str) -> Wrong {
    const WHAT: &str = "cannot be set for a windows pod";
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    // These are plain booleans in Go: false equals unset.
    let is_plain_flag = |field: &str| matches!(field, "hostPID" | "hostIPC");
    let set = POD_FIELDS
        .into_iter()
        .filter(|field| if is_plain_flag(field) { spec.flag(field) } else { is_set(spec.at(field)) });
    let mut wrong: Wrong = set.map(|field| FieldError::forbidden(format!("{path}.{field}"), WHAT)).collect();
    for (path, container) in super::all_containers(spec, path) {
        let security = container.at("securityContext");
        let set = CONTAINER_FIELDS.into_iter().filter(|field| security.has(field));
        wrong.extend(set.map(|field| FieldError::forbidden(format!("{path}.securityContext.{field}"), WHAT)));
    }
    wrong
}
