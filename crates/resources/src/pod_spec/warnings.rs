use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::names;
use coracle_release::Release;
use serde_json::Value;

use super::all_containers;
use super::overlaps::overlapping_paths;
use super::profiles::{APP_ARMOR, SECCOMP, SECCOMP_OF_POD, app_armor_of};
use crate::addresses::ip_warning;
use crate::field_checks::fraction_warning;
use crate::volume_claim_spec::claim_warnings;
use coracle_meta::fields::Fields;

/// The warnings about a pod template. `path` is the template's.
pub(crate) fn template_warnings(template: &Value, path: &str, release: &Release) -> Vec<String> {
    warnings(template.at("metadata"), template.at("spec"), path, release)
}

/// The warnings about a pod spec. `path` is that of the parent of `metadata` and `spec`; empty for a pod. In
/// Kubernetes: `pkg/api/pod/warnings.go`.
pub(crate) fn warnings(metadata: &Value, spec: &Value, path: &str, release: &Release) -> Vec<String> {
    let at = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let mut warnings = Vec::new();
    warnings.extend(of_node_labels(spec, &at("spec")));
    warnings.extend(of_annotations(metadata, &at("metadata.annotations")));
    warnings.extend(of_volumes(spec, &at("spec.volumes")));
    warnings.extend(overlapping_paths(spec));
    warnings.extend(doubles(spec, &at("spec")));
    warnings.extend(of_containers(metadata, spec, !path.is_empty(), &at("spec"), &at("metadata.annotations")));
    warnings.extend(of_ports(spec, &at("spec")));
    if spec.int("terminationGracePeriodSeconds") < 0 {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            at("spec.terminationGracePeriodSeconds")
        ));
    }
    warnings.extend(of_affinity(spec, &at("spec.affinity")));
    warnings.extend(of_addresses(spec, &at("spec"), release));
    warnings
}

fn of_addresses(spec: &Value, path: &str, release: &Release) -> Vec<String> {
    let servers = spec.list("dnsConfig.nameservers").iter().enumerate();
    let servers = servers.filter_map(|(at, server)| {
        ip_warning(server.as_str().unwrap_or_default(), &format!("{path}.dnsConfig.nameservers[{at}]"), release)
    });
    let aliases = spec.list("hostAliases").iter().enumerate();
    let aliases = aliases
        .filter_map(|(at, alias)| ip_warning(alias.text("ip"), &format!("{path}.hostAliases[{at}].ip"), release));
    servers.chain(aliases).collect()
}

/// The replacement of a deprecated node label.
pub(crate) fn deprecated_node_label(label: &str) -> Option<&'static str> {
    Some(match label {
        "beta.kubernetes.io/arch" => "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
        "beta.kubernetes.io/os" => "deprecated since v1.14; use \"kubernetes.io/os\" instead",
        "failure-domain.beta.kubernetes.io/region" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"
        }
        "beta.kubernetes.io/instance-type" => {
            "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"
        }
        _ => return None,
    })
}

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

fn of_node_labels(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (label, _) in spec.entries("nodeSelector") {
        if let Some(what) = deprecated_node_label(label) {
            warnings.push(format!("{path}.nodeSelector[{label}]: {what}"));
        }
    }
    let affinity = format!("{path}.affinity.nodeAffinity");
    let node = spec.at("affinity.nodeAffinity");
    let terms = node.list("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms").iter().enumerate();
    for (at, term) in terms {
        let path = format!("{affinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{at}]");
        warnings.extend(of_node_term(term, false, &path));
    }
    for (at, term) in node.list("preferredDuringSchedulingIgnoredDuringExecution").iter().enumerate() {
        let path = format!("{affinity}.preferredDuringSchedulingIgnoredDuringExecution[{at}].preference");
        warnings.extend(of_node_term(term.at("preference"), true, &path));
    }
    for (at, constraint) in spec.list("topologySpreadConstraints").iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{at}]");
        let key = constraint.text("topologyKey");
        if let Some(what) = deprecated_node_label(key) {
            warnings.push(format!("{path}.topologyKey: {key} is {what}"));
        }
        if !constraint.has("labelSelector") {
            warnings.push(format!("{path}.labelSelector: {NO_SELECTOR}"));
        }
    }
    warnings
}

/// With `checks_values`, the warnings name invalid label values, which are not refused in a preference.
fn of_node_term(term: &Value, checks_values: bool, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, expression) in term.list("matchExpressions").iter().enumerate() {
        let key = expression.text("key");
        if let Some(what) = deprecated_node_label(key) {
            warnings.push(format!("{path}.matchExpressions[{at}].key: {key} is {what}"));
        }
        let values = expression.list("values").iter().filter_map(Value::as_str).enumerate();
        for (value_at, value) in values.filter(|_| checks_values) {
            let sentences = names::label_value(value).into_iter();
            warnings.extend(
                sentences.map(|what| {
                    format!("{path}.matchExpressions[{at}].values[{value_at}]: {value} is invalid, {what}")
                }),
            );
        }
    }
    warnings
}

fn of_annotations(metadata: &Value, path: &str) -> Vec<String> {
    const DEPRECATED: [(&str, &str); 3] = [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        ),
        ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
        ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ];
    let annotations = metadata.at("annotations");
    let used = DEPRECATED.iter().filter(|(name, _)| !annotations.field_named(name).is_null());
    used.map(|(name, what)| format!("{path}[{name}]: {what}")).collect()
}

fn of_volumes(spec: &Value, path: &str) -> Vec<String> {
    const DEPRECATED: [(&str, &str); 9] = [
        ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
        ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
        ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
        ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
        ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    let mut warnings = Vec::new();
    for (at, volume) in spec.list("volumes").iter().enumerate() {
        for (source, what) in DEPRECATED {
            if volume.has(source) {
                // The message names the Go field, whose spelling differs from the JSON field.
                let source = if source == "storageos" { "storageOS" } else { source };
                warnings.push(format!("{path}[{at}].{source}: {what}"));
            }
            if source == "glusterfs" {
                let claim = volume.at("ephemeral.volumeClaimTemplate.spec");
                let path = format!("{path}[{at}].ephemeral.volumeClaimTemplate.spec");
                warnings.extend(claim_warnings(claim, &path));
            }
        }
    }
    warnings
}

fn doubles(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen = BTreeSet::new();
        for (at, item) in spec.list(list).iter().enumerate() {
            let value = item.text(field);
            if !seen.insert(value) {
                warnings.push(format!("{path}.{list}[{at}].{field}: duplicate {field} {value:?}"));
            }
        }
    }
    for (at, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        if secret.text("name").is_empty() {
            warnings.push(format!("{path}.imagePullSecrets[{at}].name: invalid empty name \"\""));
        }
    }
    for resource in ["memory", "ephemeral-storage"] {
        warnings.extend(fraction_warning(spec.at("overhead"), resource, &format!("{path}.overhead")));
    }
    warnings
}

fn of_containers(metadata: &Value, spec: &Value, is_template: bool, path: &str, annotations_path: &str) -> Vec<String> {
    let what = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let annotations = metadata.at("annotations");
    let mut warnings = Vec::new();
    if !spec.has("securityContext.seccompProfile") && !annotations.field_named(SECCOMP_OF_POD).is_null() {
        warnings.push(format!("{annotations_path}[{SECCOMP_OF_POD}]: {what}"));
    }
    for (path, container) in all_containers(spec, path) {
        let annotation = format!("{SECCOMP}{}", container.text("name"));
        let has_annotation = !annotations.field_named(&annotation).is_null();
        if !container.has("securityContext.seccompProfile") && has_annotation {
            warnings.push(format!("{annotations_path}[{annotation}]: {what}"));
        }
        if is_template && !container.has("securityContext.appArmorProfile") {
            let annotation = format!("{APP_ARMOR}{}", container.text("name"));
            let of_pod = spec.at("securityContext.appArmorProfile");
            if let Some(profile) = annotations.field_named(&annotation).as_str()
                && (of_pod.is_null() || app_armor_of(profile).as_ref() != Some(of_pod))
            {
                let what = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
                warnings.push(format!("{annotations_path}[{annotation}]: {what}"));
            }
        }
        for resource in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let path = format!("{path}.resources.{list}");
                warnings.extend(fraction_warning(container.at("resources").at(list), resource, &path));
            }
        }
        warnings.extend(hidden_variables(container, &path));
    }
    warnings
}

/// A duplicate variable is valid only if its second value refers to the first.
fn hidden_variables(container: &Value, path: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut warnings = Vec::new();
    for (at, variable) in container.list("env").iter().enumerate() {
        let name = variable.text("name");
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = variable.text("value");
        if variable.has("valueFrom") || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{path}.env[{at}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
    warnings
}

fn of_ports(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut by_number: BTreeMap<(i64, &str), SamePort<'_>> = BTreeMap::new();
    let mut by_name: BTreeMap<&str, String> = BTreeMap::new();
    let ports: Vec<(String, &Value)> = all_containers(spec, path)
        .into_iter()
        .flat_map(|(path, container)| {
            let ports = container.list("ports").iter().enumerate();
            ports.map(move |(at, port)| (format!("{path}.ports[{at}]"), port))
        })
        .collect();
    let mut clashes = 0;
    for (at, (path, port)) in ports.iter().enumerate() {
        if !port.text("hostIP").is_empty() && port.int("hostPort") == 0 {
            warnings.push(format!("{path}: hostIP set without hostPort: {}", go_port(port)));
        }
        let others = by_number.entry((port.int("containerPort"), port.text("protocol"))).or_default();
        for other in others.clashing_with(port, MOST_CLASHES - clashes) {
            let (other_path, other) = &ports[other];
            warnings.extend(clash(path, port, other_path, other));
            clashes += 1;
        }
        others.add(at, port);
    }
    for (path, port) in &ports {
        let name = port.text("name");
        if name.is_empty() {
            continue;
        }
        match by_name.get(name) {
            Some(other) => warnings.push(format!(
                "{path}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
            )),
            None => drop(by_name.insert(name, path.clone())),
        }
    }
    warnings
}

/// The maximum number of reported pairs of ports; a response does not contain more warnings.
const MOST_CLASHES: usize = 4096;

/// The ports of a pod with the same number and protocol, grouped by the fields that decide whether they [clash].
#[derive(Default)]
struct SamePort<'s> {
    all: Vec<usize>,
    without_host_port: Vec<usize>,
    by_host_port: BTreeMap<i64, Vec<usize>>,
    by_host: BTreeMap<(i64, &'s str), Vec<usize>>,
}

impl<'s> SamePort<'s> {
    fn add(&mut self, at: usize, port: &'s Value) {
        let (ip, number) = (port.text("hostIP"), port.int("hostPort"));
        self.all.push(at);
        if number == 0 {
            self.without_host_port.push(at);
        } else {
            self.by_host_port.entry(number).or_default().push(at);
            self.by_host.entry((number, ip)).or_default().push(at);
        }
    }

    /// The first `most` earlier ports that clash with a port.
    fn clashing_with(&self, port: &Value, most: usize) -> Vec<usize> {
        let (ip, number) = (port.text("hostIP"), port.int("hostPort"));
        let none = Vec::new();
        let [of_host, of_all_hosts] = [ip, ""].map(|ip| self.by_host.get(&(number, ip)).unwrap_or(&none));
        let of_number = self.by_host_port.get(&number).unwrap_or(&none);
        let groups: [&[usize]; 3] = match (number, ip) {
            (0, _) => [&self.all, &[], &[]],
            (_, "") => [&self.without_host_port, of_number, &[]],
            _ => [&self.without_host_port, of_host, of_all_hosts],
        };
        let mut clashing: Vec<usize> = groups.iter().flat_map(|group| group.iter().take(most)).copied().collect();
        clashing.sort_unstable();
        clashing.truncate(most);
        clashing
    }
}

fn clash(path: &str, port: &Value, other_path: &str, other: &Value) -> Option<String> {
    let (ip, other_ip) = (port.text("hostIP"), other.text("hostIP"));
    let (number, other_number) = (port.int("hostPort"), other.int("hostPort"));
    let what = if ip == other_ip && number == other_number {
        "duplicate"
    } else if number == 0 || other_number == 0 {
        "overlapping"
    } else if number == other_number && ip.is_empty() != other_ip.is_empty() {
        "dangerously ambiguous"
    } else {
        return None;
    };
    Some(format!("{path}: {what} port definition with {other_path}"))
}

/// A port as Go prints a struct with `%+v`.
fn go_port(port: &Value) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        port.text("name"),
        port.int("hostPort"),
        port.int("containerPort"),
        port.text("protocol"),
        port.text("hostIP")
    )
}

fn of_affinity(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = spec.at("affinity").at(kind);
        let path = format!("{path}.{kind}");
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (at, term) in terms.list(required).iter().enumerate() {
            if !term.has("labelSelector") {
                warnings.push(format!("{path}.{required}[{at}].labelSelector: {NO_SELECTOR}"));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (at, term) in terms.list(preferred).iter().enumerate() {
            if !term.has("podAffinityTerm.labelSelector") {
                warnings.push(format!("{path}.{preferred}[{at}].podAffinityTerm.labelSelector: {NO_SELECTOR}"));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn ports_that_clash_by_the_thousand_are_named_as_far_as_an_answer_goes() {
        let same = vec![json!({"containerPort": 80, "protocol": "TCP"}); 20_000];
        let warnings = of_ports(&json!({"containers": [{"name": "c", "ports": same}]}), "spec");
        assert_eq!(warnings.len(), MOST_CLASHES);
        let first = "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]";
        assert_eq!(warnings[0], first);
        let others: Vec<Value> =
            (1..40_000).map(|at| json!({"containerPort": 80, "protocol": "TCP", "hostPort": at})).collect();
        assert!(of_ports(&json!({"containers": [{"name": "c", "ports": others}]}), "spec").is_empty());
    }

    proptest! {
        #[test]
        fn the_clashes_of_ports_are_those_of_each_with_all_before(
            ports in proptest::collection::vec((1_i64..3, 0_i64..3, prop_oneof![Just(""), Just("a"), Just("b")]), 0..12),
        ) {
            let ports: Vec<Value> = ports
                .into_iter()
                .map(|(port, host, ip)| json!({"containerPort": port, "hostPort": host, "hostIP": ip}))
                .collect();
            let path = |at: usize| format!("spec.containers[0].ports[{at}]");
            let mut expected = Vec::new();
            for (at, port) in ports.iter().enumerate() {
                let same = ports[..at].iter().enumerate().filter(|(_, other)| other["containerPort"] == port["containerPort"]);
                expected.extend(same.filter_map(|(other_at, other)| clash(&path(at), port, &path(other_at), other)));
            }
            let warnings = of_ports(&json!({"containers": [{"name": "c", "ports": ports}]}), "spec");
            let clashes: Vec<_> = warnings.into_iter().filter(|text| text.contains("port definition")).collect();
            prop_assert_eq!(clashes, expected);
        }
    }
}
