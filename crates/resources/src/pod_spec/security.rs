//! Security contexts of containers and pods. In Kubernetes: `ValidateSecurityContext`,
//! `validatePodSpecSecurityContext`, `validateHostUsers`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::profiles::{wrong_app_armor, wrong_seccomp};
use super::windows::wrong_options;
use crate::field_checks::Wrong;

fn wrong_id(id: i64, path: &str) -> Wrong {
    let sentences = names::in_range(id, 0, i64::from(i32::MAX));
    sentences.into_iter().map(|what| FieldError::invalid(path, id, what)).collect()
}

fn wrong_ids(security: &Value, fields: &[&str], path: &str) -> Wrong {
    let set = fields.iter().filter_map(|field| Some((field, security.int_if_set(field)?)));
    set.flat_map(|(field, id)| wrong_id(id, &format!("{path}.{field}"))).collect()
}

/// The errors of the security context of a container. `host_users` is whether the pod uses the host's user namespace.
pub(super) fn wrong_container_security(security: &Value, host_users: bool, path: &str) -> Wrong {
    let mut wrong = wrong_ids(security, &["runAsUser", "runAsGroup"], path);
    if let Some(kind) = security.at("procMount").as_str() {
        let path = format!("{path}.procMount");
        if !matches!(kind, "Default" | "Unmasked") {
            wrong.push(FieldError::not_supported(&path, kind, &["Default", "Unmasked"]));
        }
        if host_users && kind == "Unmasked" {
            wrong.push(FieldError::invalid(path, kind, "`hostUsers` must be false to use `Unmasked`"));
        }
    }
    wrong.extend(wrong_seccomp(security, path));
    if security.at("allowPrivilegeEscalation").as_bool() == Some(false) {
        let mut refuse = |what: &str| {
            let what = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            wrong.push(FieldError::invalid(path, security.clone(), what).printed_as(go_security_context(security)));
        };
        if security.flag("privileged") {
            refuse("`privileged` to true");
        }
        let is_admin = |name: &&Value| *name == "CAP_SYS_ADMIN";
        for _ in security.list("capabilities.add").iter().filter(is_admin) {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    wrong.extend(wrong_options(security, path));
    wrong.extend(wrong_app_armor(security, path));
    wrong
}

/// A struct as Go prints an internal type: the fields with Go's names and order, unset ones as `null` or a zero value.
fn go_struct(value: &Value, fields: &[(&str, &str)], zero: &str) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let fields = fields.iter().map(|(go, json)| match value.at(json) {
        Value::Null => format!("{go:?}:{zero}"),
        value => format!("{go:?}:{value}"),
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn go_security_context(security: &Value) -> String {
    let nested = |field: &str| security.at(field);
    let profile = [("Type", "type"), ("LocalhostProfile", "localhostProfile")];
    let linux = [("User", "user"), ("Role", "role"), ("Type", "type"), ("Level", "level")];
    let windows = [
        ("GMSACredentialSpecName", "gmsaCredentialSpecName"),
        ("GMSACredentialSpec", "gmsaCredentialSpec"),
        ("RunAsUserName", "runAsUserName"),
        ("HostProcess", "hostProcess"),
    ];
    let plain = |field: &str| security.at(field).to_string();
    let fields = [
        ("Capabilities", go_struct(nested("capabilities"), &[("Add", "add"), ("Drop", "drop")], "null")),
        ("Privileged", plain("privileged")),
        ("SELinuxOptions", go_struct(nested("seLinuxOptions"), &linux, "\"\"")),
        ("WindowsOptions", go_struct(nested("windowsOptions"), &windows, "null")),
        ("RunAsUser", plain("runAsUser")),
        ("RunAsGroup", plain("runAsGroup")),
        ("RunAsNonRoot", plain("runAsNonRoot")),
        ("ReadOnlyRootFilesystem", plain("readOnlyRootFilesystem")),
        ("AllowPrivilegeEscalation", plain("allowPrivilegeEscalation")),
        ("ProcMount", plain("procMount")),
        ("SeccompProfile", go_struct(nested("seccompProfile"), &profile, "null")),
        ("AppArmorProfile", go_struct(nested("appArmorProfile"), &profile, "null")),
    ];
    let fields = fields.map(|(name, value)| format!("{name:?}:{value}"));
    format!("{{{}}}", fields.join(","))
}

/// The errors of the security context of a pod.
pub(super) fn wrong_pod_security(spec: &Value, path: &str) -> Wrong {
    let security = spec.at("securityContext");
    let path = format!("{path}.securityContext");
    let mut wrong = wrong_ids(security, &["fsGroup", "runAsUser", "runAsGroup"], &path);
    for (at, id) in security.list("supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        wrong.extend(wrong_id(id, &format!("{path}.supplementalGroups[{at}]")));
    }
    if spec.flag("hostPID") && spec.flag("shareProcessNamespace") {
        let what = "ShareProcessNamespace and HostPID cannot both be enabled";
        wrong.push(FieldError::invalid(format!("{path}.shareProcessNamespace"), true, what));
    }
    wrong.extend(wrong_sysctls(spec, &format!("{path}.sysctls")));
    wrong.extend(wrong_word(security, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], &path));
    wrong.extend(wrong_seccomp(security, &path));
    wrong.extend(wrong_options(security, &path));
    wrong.extend(wrong_app_armor(security, &path));
    wrong.extend(wrong_word(security, "supplementalGroupsPolicy", &["Merge", "Strict"], &path));
    wrong.extend(wrong_word(security, "seLinuxChangePolicy", &["Recursive"], &path));
    wrong
}

fn wrong_word(security: &Value, field: &str, known: &[&str], path: &str) -> Wrong {
    match security.at(field).as_str() {
        Some(word) if !known.contains(&word) => {
            vec![FieldError::not_supported(format!("{path}.{field}"), word, known)]
        }
        _ => Wrong::new(),
    }
}

fn wrong_sysctls(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, sysctl) in spec.list("securityContext.sysctls").iter().enumerate() {
        let path = format!("{path}[{at}].name");
        let name = sysctl.text("name");
        if name.is_empty() {
            wrong.push(FieldError::required(&path, ""));
        } else if !is_sysctl(name) {
            let what = "must have at most 253 characters and match regex \
                ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            wrong.push(FieldError::invalid(&path, name, what));
        } else if seen.contains(name) {
            wrong.push(FieldError::duplicate(&path, name));
        }
        seen.insert(name);
        for shared in ["hostNetwork", "hostIPC"] {
            if spec.flag(shared) && namespace_of_sysctl(name) == Some(shared) {
                wrong.push(FieldError::invalid(&path, name, format!("may not be specified when '{shared}' is true")));
            }
        }
    }
    wrong
}

/// Words of letters, digits and inner `-` and `_`, separated by dots or slashes. In Kubernetes: `IsValidSysctlName`.
fn is_sysctl(name: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|word| {
            word.starts_with(is_plain)
                && word.ends_with(is_plain)
                && word.chars().all(|sign| is_plain(sign) || matches!(sign, '-' | '_'))
        })
}

/// The field of a pod that shares the host namespace of a sysctl. In Kubernetes: `sysctl.GetNamespace`.
fn namespace_of_sysctl(name: &str) -> Option<&'static str> {
    let first = name.find(['.', '/']).map(|at| name.as_bytes()[at]);
    // If slashes separate the words, dots are part of them.
    let dotted = if first == Some(b'/') { name.replace('/', ".") } else { name.to_owned() };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| dotted.starts_with(prefix));
    match () {
        () if dotted == "kernel.sem" || begins(&["kernel.shm", "kernel.msg", "fs.mqueue."]) => Some("hostIPC"),
        () if begins(&["net."]) => Some("hostNetwork"),
        () => None,
    }
}

/// The host namespaces that a pod with its own user namespace must not share.
pub(super) fn wrong_host_users(spec: &Value, path: &str) -> Wrong {
    if uses_host_users(spec) {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    // These are Kubernetes' spellings of the paths.
    for (flag, name) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag(flag) {
            wrong.push(FieldError::forbidden(format!("{path}.{name}"), "when `hostUsers` is false"));
        }
    }
    for (path, container) in super::all_containers(spec, path) {
        if !container.list("volumeDevices").is_empty() {
            wrong.push(FieldError::forbidden(format!("{path}.volumeDevices"), "when `hostUsers` is false"));
        }
    }
    wrong
}

/// Whether a pod uses the host's user namespace, which is the default.
pub(super) fn uses_host_users(spec: &Value) -> bool {
    spec.at("hostUsers").as_bool() != Some(false)
}
