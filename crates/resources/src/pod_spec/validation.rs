//! What is wrong with the specification of a pod, in a pod or in a template. In Kubernetes: `ValidatePodSpec`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::containers::{Surroundings, wrong_containers};
use super::placement::{wrong_affinity, wrong_spread, wrong_tolerations};
use super::volumes::volumes;
use crate::field_checks::{Wrong, annotations, each_invalid, ip, labels, required_one_of};

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// What is wrong with a specification.
pub(crate) fn wrong_spec(spec: &Value, path: &str) -> Wrong {
    let (fine, mut wrong) = volumes(spec, path);
    let claims: BTreeSet<&str> = spec.list("resourceClaims").iter().map(|claim| claim.text("name")).collect();
    let grace = spec.int_if_set("terminationGracePeriodSeconds");
    if grace.is_none() {
        wrong.push(FieldError::required(format!("{path}.terminationGracePeriodSeconds"), ""));
    }
    wrong.extend(wrong_containers(spec, &Surroundings { volumes: fine, claims, grace }, path));
    wrong.extend(wrong_host_ports(spec, path));
    wrong.extend(required_one_of(spec, "restartPolicy", path, &RESTART_POLICIES));
    wrong.extend(required_one_of(spec, "dnsPolicy", path, &DNS_POLICIES));
    wrong.extend(labels(spec.at("nodeSelector"), &format!("{path}.nodeSelector")));
    wrong.extend(wrong_security(spec, path));
    wrong.extend(wrong_affinity(spec.at("affinity"), &format!("{path}.affinity")));
    wrong.extend(wrong_dns(spec, path));
    wrong.extend(wrong_gates(spec, path));
    wrong.extend(wrong_spread(spec, path));
    wrong.extend(wrong_names(spec, path));
    if let Some(seconds) = spec.int_if_set("activeDeadlineSeconds") {
        let sentences = names::in_range(seconds, 1, i64::from(i32::MAX));
        let path = format!("{path}.activeDeadlineSeconds");
        wrong.extend(sentences.into_iter().map(|what| FieldError::invalid(&path, seconds, what)));
    }
    wrong.extend(wrong_tolerations(spec.list("tolerations"), &format!("{path}.tolerations")));
    for (at, alias) in spec.list("hostAliases").iter().enumerate() {
        let path = format!("{path}.hostAliases[{at}]");
        wrong.extend(ip(alias.text("ip"), &format!("{path}.ip")));
        for (at, name) in alias.list("hostnames").iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(each_invalid(&format!("{path}.hostnames[{at}]"), name, names::dns1123_subdomain(name)));
        }
    }
    wrong.extend(wrong_os(spec, path));
    wrong.extend(wrong_host_name(spec, path));
    wrong
}

/// In Kubernetes: `validatePodHostName`.
fn wrong_host_name(spec: &Value, path: &str) -> Wrong {
    let Some(name) = spec.at("hostnameOverride").as_str() else { return Wrong::new() };
    let path = format!("{path}.hostnameOverride");
    let mut wrong = Wrong::new();
    for flag in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.flag(flag) {
            wrong.push(FieldError::forbidden(&path, format!("may not be specified when {flag} is true")));
        }
    }
    if name.len() > 64 {
        wrong.push(FieldError::too_long(&path, 64));
    }
    wrong.extend(each_invalid(&path, name, names::dns1123_subdomain(name)));
    wrong
}

/// What is wrong with a template. In Kubernetes: `ValidatePodTemplateSpec`.
pub(crate) fn wrong_template(template: &Value, path: &str) -> Wrong {
    let mut wrong = labels(template.at("metadata.labels"), &format!("{path}.labels"));
    wrong.extend(annotations(template.at("metadata.annotations"), &format!("{path}.annotations")));
    wrong.extend(wrong_spec(template.at("spec"), &format!("{path}.spec")));
    if !template.list("spec.ephemeralContainers").is_empty() {
        let path = format!("{path}.spec.ephemeralContainers");
        wrong.push(FieldError::forbidden(path, "ephemeral containers not allowed in pod template"));
    }
    wrong
}

/// What is wrong with the template of something whose pods run for ever.
pub(crate) fn wrong_lasting_template(template: &Value, path: &str, kind: &str) -> Wrong {
    let mut wrong = wrong_template(template, path);
    let policy = template.text("spec.restartPolicy");
    if policy != "Always" {
        wrong.push(FieldError::not_supported(format!("{path}.spec.restartPolicy"), policy, &["Always"]));
    }
    if template.has("spec.activeDeadlineSeconds") {
        let what = format!("activeDeadlineSeconds in {kind} is not Supported");
        wrong.push(FieldError::forbidden(format!("{path}.spec.activeDeadlineSeconds"), what));
    }
    wrong
}

fn wrong_host_ports(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if !spec.flag("hostNetwork") {
        return wrong;
    }
    for (at, container) in spec.list("containers").iter().enumerate() {
        for (port_at, port) in container.list("ports").iter().enumerate() {
            let (host, own) = (port.int("hostPort"), port.int("containerPort"));
            if host != 0 && host != own {
                let path = format!("{path}.containers[{at}].ports[{port_at}].hostPort");
                wrong.push(FieldError::invalid(path, host, "must match `containerPort` when `hostNetwork` is true"));
            }
        }
    }
    wrong
}

fn wrong_security(spec: &Value, path: &str) -> Wrong {
    let security = spec.at("securityContext");
    let path = format!("{path}.securityContext");
    let mut wrong = Wrong::new();
    let mut check_id = |id: i64, path: String| {
        let sentences = names::in_range(id, 0, i64::from(i32::MAX));
        wrong.extend(sentences.into_iter().map(|what| FieldError::invalid(&path, id, what)));
    };
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        if let Some(id) = security.int_if_set(field) {
            check_id(id, format!("{path}.{field}"));
        }
    }
    for (at, id) in security.list("supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        check_id(id, format!("{path}.supplementalGroups[{at}]"));
    }
    let change = security.text("fsGroupChangePolicy");
    if !matches!(change, "" | "Always" | "OnRootMismatch") {
        let known = ["Always", "OnRootMismatch"];
        wrong.push(FieldError::not_supported(format!("{path}.fsGroupChangePolicy"), change, &known));
    }
    let mut seen = BTreeSet::new();
    for (at, sysctl) in security.list("sysctls").iter().enumerate() {
        let path = format!("{path}.sysctls[{at}].name");
        let name = sysctl.text("name");
        if name.is_empty() {
            wrong.push(FieldError::required(&path, ""));
        } else if !is_sysctl(name) {
            let what = "must have at most 253 characters and match regex \
                ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            wrong.push(FieldError::invalid(&path, name, what));
        } else if !seen.insert(name) {
            wrong.push(FieldError::duplicate(&path, name));
        }
        for shared in ["hostNetwork", "hostIPC"] {
            if spec.flag(shared) && namespace_of_sysctl(name) == Some(shared) {
                wrong.push(FieldError::invalid(&path, name, format!("may not be specified when '{shared}' is true")));
            }
        }
    }
    wrong.extend(wrong_seccomp(security, &path));
    wrong
}

/// Words of letters, digits and, inside them, `-` and `_`, between dots or slashes. In Kubernetes: `IsValidSysctlName`.
fn is_sysctl(name: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|word| {
            word.starts_with(is_plain)
                && word.ends_with(is_plain)
                && word.chars().all(|sign| is_plain(sign) || matches!(sign, '-' | '_'))
        })
}

/// The flag of a pod that shares the host's namespace to which a sysctl belongs. In Kubernetes: `sysctl.GetNamespace`.
fn namespace_of_sysctl(name: &str) -> Option<&'static str> {
    let first = name.find(['.', '/']).map(|at| name.as_bytes()[at]);
    // Where slashes stand between the words, dots stand inside them.
    let dotted = if first == Some(b'/') { name.replace('/', ".") } else { name.to_owned() };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| dotted.starts_with(prefix));
    match () {
        () if dotted == "kernel.sem" || begins(&["kernel.shm", "kernel.msg", "fs.mqueue."]) => Some("hostIPC"),
        () if begins(&["net."]) => Some("hostNetwork"),
        () => None,
    }
}

fn wrong_seccomp(security: &Value, path: &str) -> Wrong {
    let profile = security.at("seccompProfile");
    if profile.is_null() {
        return Wrong::new();
    }
    let path = format!("{path}.seccompProfile");
    let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
    let mut wrong = required_one_of(profile, "type", &path, &kinds);
    let has_file = profile.has("localhostProfile");
    match (profile.text("type") == "Localhost", has_file) {
        (true, false) => wrong.push(FieldError::required(
            format!("{path}.localhostProfile"),
            "must be set when seccomp type is Localhost",
        )),
        (false, true) => wrong.push(FieldError::invalid(
            format!("{path}.localhostProfile"),
            profile.at("localhostProfile").clone(),
            "can only be set when seccomp type is Localhost",
        )),
        _ => {}
    }
    wrong
}

fn wrong_dns(spec: &Value, path: &str) -> Wrong {
    let config = spec.at("dnsConfig");
    let path = format!("{path}.dnsConfig");
    let servers = config.list("nameservers");
    if spec.text("dnsPolicy") == "None" {
        if config.is_null() {
            return vec![FieldError::required(path, "must provide `dnsConfig` when `dnsPolicy` is None")];
        }
        if servers.is_empty() {
            let what = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return vec![FieldError::required(format!("{path}.nameservers"), what)];
        }
    }
    let mut wrong = Wrong::new();
    if servers.len() > 3 {
        let all = config.at("nameservers").clone();
        wrong.push(FieldError::invalid(format!("{path}.nameservers"), all, "must not have more than 3 nameservers"));
    }
    for (at, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        wrong.extend(ip(server, &format!("{path}.nameservers[{at}]")));
    }
    for (at, search) in config.list("searches").iter().filter_map(Value::as_str).enumerate() {
        let name = search.strip_suffix('.').unwrap_or(search);
        if search != "." {
            let sentences = names::dns1123_subdomain_with_underscore(name);
            wrong.extend(each_invalid(&format!("{path}.searches[{at}]"), name, sentences));
        }
    }
    for (at, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            wrong.push(FieldError::required(format!("{path}.options[{at}]"), "must not be empty"));
        }
    }
    wrong
}

fn wrong_gates(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, gate) in spec.list("readinessGates").iter().enumerate() {
        let kind = gate.text("conditionType");
        let path = format!("{path}.readinessGates[{at}].conditionType");
        wrong.extend(each_invalid(&path, kind, names::qualified_name(kind)));
    }
    let mut seen = BTreeSet::new();
    for (at, gate) in spec.list("schedulingGates").iter().enumerate() {
        let name = gate.text("name");
        let path = format!("{path}.schedulingGates[{at}]");
        wrong.extend(each_invalid(&path, name, names::qualified_name(name)));
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(path, name));
        }
    }
    wrong
}

/// What is wrong with a name.
type NameRule = fn(&str) -> Vec<String>;

/// The names of other things, and of the host.
fn wrong_names(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let rules: [(&str, NameRule); 6] = [
        ("serviceAccountName", names::dns1123_subdomain),
        ("nodeName", names::dns1123_subdomain),
        ("hostname", names::dns1123_label),
        ("subdomain", names::dns1123_label),
        ("priorityClassName", names::dns1123_subdomain),
        ("runtimeClassName", names::dns1123_subdomain),
    ];
    for (field, rule) in rules {
        let name = spec.text(field);
        if !name.is_empty() {
            wrong.extend(each_invalid(&format!("{path}.{field}"), name, rule(name)));
        }
    }
    let policy = spec.text("preemptionPolicy");
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        let known = ["PreemptLowerPriority", "Never"];
        wrong.push(FieldError::not_supported(format!("{path}.preemptionPolicy"), policy, &known));
    }
    wrong
}

fn wrong_os(spec: &Value, path: &str) -> Wrong {
    if !spec.has("os") {
        return Wrong::new();
    }
    required_one_of(spec.at("os"), "name", &format!("{path}.os"), &["linux", "windows"])
}
