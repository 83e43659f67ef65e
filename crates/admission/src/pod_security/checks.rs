//! The checks of the pod security standards. In Kubernetes: `check_*.go` of pod-security-admission, in the order of
//! their names, those of the baseline first.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use serde_json::Value;

use super::policy::{Level, Standard, Version};

/// The violations of a standard by a pod: the reason and the details.
pub(super) fn violations(standard: Standard, metadata: &Value, spec: &Value) -> Vec<(String, String)> {
    let Standard { level, version } = standard;
    if level == Level::Privileged {
        return Vec::new();
    }
    let pod = Pod { metadata, spec, version };
    let is_restricted = level == Level::Restricted;
    // Some checks of the restricted level replace those of the baseline.
    let unless_restricted_since = |minor: u32| !(is_restricted && version.has(minor));
    let since = |minor: u32, check: fn(&Pod<'_>) -> Finding| version.has(minor).then(|| check(&pod)).flatten();
    let baseline = [
        app_armor(&pod),
        unless_restricted_since(22).then(|| added_capabilities(&pod)).flatten(),
        host_namespaces(&pod),
        host_path_volumes(&pod),
        host_ports(&pod),
        since(34, probe_hosts),
        privileged(&pod),
        unless_restricted_since(35).then(|| proc_mount_baseline(&pod)).flatten(),
        se_linux(&pod),
        unless_restricted_since(19).then(|| seccomp_baseline(&pod)).flatten(),
        sysctls(&pod),
        host_process(&pod),
    ];
    let restricted = [
        since(8, privilege_escalation),
        since(22, capabilities),
        since(35, proc_mount),
        volume_types(&pod),
        run_as_non_root(&pod),
        since(23, run_as_user),
        since(19, seccomp),
    ];
    let restricted = restricted.into_iter().filter(|_| is_restricted);
    baseline.into_iter().chain(restricted).flatten().collect()
}

/// The violations in one text.
pub(super) fn described(violations: &[(String, String)]) -> String {
    let all: Vec<String> = violations.iter().map(|(reason, detail)| format!("{reason} ({detail})")).collect();
    all.join(", ")
}

/// A pod, or the template of one.
struct Pod<'p> {
    metadata: &'p Value,
    spec: &'p Value,
    version: Version,
}

/// A violation: the reason and the details.
type Finding = Option<(String, String)>;

impl<'p> Pod<'p> {
    fn containers(&self) -> impl Iterator<Item = &'p Value> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |list| spec.list(list))
    }

    fn security(&self) -> &'p Value {
        self.spec.at("securityContext")
    }

    /// Linux-only checks do not apply to Windows pods.
    fn is_windows(&self) -> bool {
        self.version.has(25) && self.spec.text("os.name") == "windows"
    }

    /// Whether the pod has a user namespace, in which root has no privileges on the host.
    fn has_own_users(&self) -> bool {
        self.version.has(35) && self.spec.at("hostUsers").as_bool() == Some(false)
    }

    /// The names of the containers for which `does` holds.
    fn those(&self, does: impl Fn(&Value) -> bool) -> Vec<String> {
        self.containers().filter(|container| does(container)).map(|one| one.text("name").to_owned()).collect()
    }
}

fn finding(reason: &str, detail: String) -> Finding {
    Some((reason.to_owned(), detail))
}

fn plural<'w>(one: &'w str, many: &'w str, count: usize) -> &'w str {
    if count == 1 { one } else { many }
}

fn quoted<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    words.into_iter().map(|word| format!("{:?}", word.as_ref())).collect::<Vec<_>>().join(", ")
}

fn named(containers: &[String]) -> String {
    format!("{} {}", plural("container", "containers", containers.len()), quoted(containers))
}

/// `pod`, the containers, or both.
fn setters(pod: bool, containers: &[String]) -> String {
    let containers = (!containers.is_empty()).then(|| named(containers));
    pod.then(|| "pod".to_owned()).into_iter().chain(containers).collect::<Vec<_>>().join(" and ")
}

fn app_armor(pod: &Pod<'_>) -> Finding {
    const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
    let is_bad = |security: &Value| {
        security.has("appArmorProfile")
            && !matches!(security.text("appArmorProfile.type"), "RuntimeDefault" | "Localhost")
    };
    let containers = pod.those(|container| is_bad(container.at("securityContext")));
    let contexts = std::iter::once(pod.security()).chain(pod.containers().map(|one| one.at("securityContext")));
    let types: BTreeSet<&str> =
        contexts.filter(|security| is_bad(security)).map(|security| security.text("appArmorProfile.type")).collect();
    let annotations: Vec<String> = pod
        .metadata
        .entries("annotations")
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
        .filter(|(name, _)| name.starts_with(ANNOTATION))
        .filter(|(_, value)| !value.is_empty() && *value != "runtime/default" && !value.starts_with("localhost/"))
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    let mut who = setters(is_bad(pod.security()), &containers);
    if !annotations.is_empty() {
        let word = plural("annotation", "annotations", annotations.len());
        who = if who.is_empty() { word.to_owned() } else { format!("{who} and {word}") };
    }
    if who.is_empty() {
        return None;
    }
    let values: Vec<String> = types.into_iter().map(str::to_owned).chain(annotations).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    finding(reason, format!("{who} must not set AppArmor profile type to {}", quoted(values)))
}

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn added(container: &Value, allowed: &[&str]) -> Vec<String> {
    let added = container.list("securityContext.capabilities.add").iter().filter_map(Value::as_str);
    added.filter(|name| !allowed.contains(name)).map(str::to_owned).collect()
}

fn added_capabilities(pod: &Pod<'_>) -> Finding {
    let containers = pod.those(|container| !added(container, &CAPABILITIES).is_empty());
    let names: BTreeSet<String> = pod.containers().flat_map(|container| added(container, &CAPABILITIES)).collect();
    if containers.is_empty() {
        return None;
    }
    let who = named(&containers);
    let detail = format!("{who} must not include {} in securityContext.capabilities.add", quoted(names));
    finding("non-default capabilities", detail)
}

fn host_namespaces(pod: &Pod<'_>) -> Finding {
    let fields = ["hostNetwork", "hostPID", "hostIPC"];
    let set: Vec<_> = fields.iter().filter(|field| pod.spec.flag(field)).map(|field| format!("{field}=true")).collect();
    if set.is_empty() { None } else { finding("host namespaces", set.join(", ")) }
}

fn host_path_volumes(pod: &Pod<'_>) -> Finding {
    let volumes = pod.spec.list("volumes").iter().filter(|volume| volume.has("hostPath"));
    let names: Vec<&str> = volumes.map(|volume| volume.text("name")).collect();
    if names.is_empty() {
        return None;
    }
    finding("hostPath volumes", format!("{} {}", plural("volume", "volumes", names.len()), quoted(names)))
}

fn host_ports(pod: &Pod<'_>) -> Finding {
    let ports = |container: &Value| -> Vec<String> {
        let ports = container.list("ports").iter().map(|port| port.int("hostPort")).filter(|port| *port != 0);
        ports.map(|port| port.to_string()).collect()
    };
    let containers = pod.those(|container| !ports(container).is_empty());
    if containers.is_empty() {
        return None;
    }
    let all: BTreeSet<String> = pod.containers().flat_map(ports).collect();
    let uses = plural("uses", "use", containers.len());
    let word = plural("hostPort", "hostPorts", all.len());
    let all = all.into_iter().collect::<Vec<_>>().join(", ");
    finding("hostPort", format!("{} {uses} {word} {all}", named(&containers)))
}

fn probe_hosts(pod: &Pod<'_>) -> Finding {
    let hosts = |container: &Value| -> Vec<String> {
        let handlers = ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle.postStart", "lifecycle.preStop"];
        let hosts = handlers.iter().flat_map(|handler| {
            ["httpGet.host", "tcpSocket.host"].map(|host| container.at(handler).text(host).to_owned())
        });
        hosts.filter(|host| !host.is_empty()).collect()
    };
    let containers: BTreeSet<String> = pod.those(|container| !hosts(container).is_empty()).into_iter().collect();
    if containers.is_empty() {
        return None;
    }
    let containers: Vec<String> = containers.into_iter().collect();
    let all: BTreeSet<String> = pod.containers().flat_map(hosts).collect();
    let uses = plural("uses", "use", containers.len());
    let word = plural("probe or lifecycle host", "probe or lifecycle hosts", all.len());
    finding("probe or lifecycle host", format!("{} {uses} {word} {}", named(&containers), quoted(all)))
}

fn privileged(pod: &Pod<'_>) -> Finding {
    let containers = pod.those(|container| container.flag("securityContext.privileged"));
    if containers.is_empty() {
        return None;
    }
    finding("privileged", format!("{} must not set securityContext.privileged=true", named(&containers)))
}

fn proc_mount_baseline(pod: &Pod<'_>) -> Finding {
    if pod.has_own_users() { None } else { proc_mount(pod) }
}

fn proc_mount(pod: &Pod<'_>) -> Finding {
    let kind = |container: &Value| container.text("securityContext.procMount").to_owned();
    let is_bad = |kind: &str| !matches!(kind, "" | "Default");
    let containers = pod.those(|container| is_bad(&kind(container)));
    if containers.is_empty() {
        return None;
    }
    let kinds: BTreeSet<String> = pod.containers().map(kind).filter(|kind| is_bad(kind)).collect();
    let detail = format!("{} must not set securityContext.procMount to {}", named(&containers), quoted(kinds));
    finding("procMount", detail)
}

fn se_linux(pod: &Pod<'_>) -> Finding {
    const ALL: [&str; 5] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
    let allowed = if pod.version.has(31) { &ALL[..] } else { &ALL[..4] };
    let is_bad = |security: &Value| {
        let options = security.at("seLinuxOptions");
        let sets_more = ["user", "role"].iter().any(|field| !options.text(field).is_empty());
        !allowed.contains(&options.text("type")) || sets_more
    };
    let containers = pod.those(|container| is_bad(container.at("securityContext")));
    let who = setters(is_bad(pod.security()), &containers);
    if who.is_empty() {
        return None;
    }
    let contexts = std::iter::once(pod.security()).chain(pod.containers().map(|one| one.at("securityContext")));
    let options: Vec<&Value> = contexts.map(|security| security.at("seLinuxOptions")).collect();
    let types: BTreeSet<&str> =
        options.iter().map(|options| options.text("type")).filter(|kind| !allowed.contains(kind)).collect();
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!("{} {}", plural("type", "types", types.len()), quoted(types)));
    }
    for field in ["user", "role"] {
        if options.iter().any(|options| !options.text(field).is_empty()) {
            what.push(format!("{field} may not be set"));
        }
    }
    let detail = format!("{who} set forbidden securityContext.seLinuxOptions: {}", what.join("; "));
    finding("seLinuxOptions", detail)
}

fn is_bad_seccomp(security: &Value) -> bool {
    security.has("seccompProfile") && !matches!(security.text("seccompProfile.type"), "RuntimeDefault" | "Localhost")
}

fn seccomp_baseline(pod: &Pod<'_>) -> Finding {
    if pod.version.has(19) { seccomp_fields(pod) } else { seccomp_annotations(pod) }
}

/// The annotations that preceded the fields.
fn seccomp_annotations(pod: &Pod<'_>) -> Finding {
    const OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let containers = pod.containers().map(|container| format!("{OF_CONTAINER}{}", container.text("name")));
    let names: BTreeSet<String> = containers.chain([OF_POD.to_owned()]).collect();
    let is_good =
        |value: &str| ["runtime/default", "docker/default"].contains(&value) || value.starts_with("localhost/");
    let annotations = pod.metadata.entries("annotations").filter(|(name, _)| names.contains(*name));
    let bad: BTreeSet<String> = annotations
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
        .filter(|(_, value)| !is_good(value))
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let word = plural("annotation", "annotations", bad.len());
    finding("seccompProfile", format!("forbidden {word} {}", bad.into_iter().collect::<Vec<_>>().join(", ")))
}

fn seccomp_fields(pod: &Pod<'_>) -> Finding {
    let containers = pod.those(|container| is_bad_seccomp(container.at("securityContext")));
    let who = setters(is_bad_seccomp(pod.security()), &containers);
    if who.is_empty() {
        return None;
    }
    let contexts = std::iter::once(pod.security()).chain(pod.containers().map(|one| one.at("securityContext")));
    let types: BTreeSet<&str> = contexts
        .filter(|security| is_bad_seccomp(security))
        .map(|security| security.text("seccompProfile.type"))
        .collect();
    let detail = format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(types));
    finding("seccompProfile", detail)
}

fn sysctls(pod: &Pod<'_>) -> Finding {
    const ALL: [&str; 12] = [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    ];
    let allowed = match pod.version {
        version if version.has(32) => &ALL[..],
        version if version.has(29) => &ALL[..10],
        version if version.has(27) => &ALL[..6],
        _ => &ALL[..5],
    };
    let names = pod.security().list("sysctls").iter().map(|sysctl| sysctl.text("name"));
    let forbidden: Vec<&str> = names.filter(|name| !allowed.contains(name)).collect();
    if forbidden.is_empty() { None } else { finding("forbidden sysctls", forbidden.join(", ")) }
}

fn host_process(pod: &Pod<'_>) -> Finding {
    let containers = pod.those(|container| container.flag("securityContext.windowsOptions.hostProcess"));
    let who = setters(pod.security().flag("windowsOptions.hostProcess"), &containers);
    if who.is_empty() {
        return None;
    }
    finding("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true"))
}

fn privilege_escalation(pod: &Pod<'_>) -> Finding {
    let allows = |container: &Value| container.at("securityContext.allowPrivilegeEscalation").as_bool() != Some(false);
    let containers = pod.those(allows);
    if pod.is_windows() || containers.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", named(&containers));
    finding("allowPrivilegeEscalation != false", detail)
}

fn capabilities(pod: &Pod<'_>) -> Finding {
    if pod.is_windows() {
        return None;
    }
    let drops_all =
        |container: &Value| container.list("securityContext.capabilities.drop").iter().any(|name| name == "ALL");
    let keeping = pod.those(|container| !drops_all(container));
    let adding = pod.those(|container| !added(container, &["NET_BIND_SERVICE"]).is_empty());
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", named(&keeping)));
    }
    if !adding.is_empty() {
        let names: BTreeSet<String> =
            pod.containers().flat_map(|container| added(container, &["NET_BIND_SERVICE"])).collect();
        let who = named(&adding);
        details.push(format!("{who} must not include {} in securityContext.capabilities.add", quoted(names)));
    }
    if details.is_empty() { None } else { finding("unrestricted capabilities", details.join("; ")) }
}

fn volume_types(pod: &Pod<'_>) -> Finding {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let volumes: Vec<&Value> = pod.spec.list("volumes").iter().collect();
    let bad: Vec<&&Value> = volumes.iter().filter(|volume| !ALLOWED.iter().any(|source| volume.has(source))).collect();
    if bad.is_empty() {
        return None;
    }
    let source = |volume: &Value| -> String {
        let fields = volume.as_object().into_iter().flatten();
        let mut sources = fields.filter(|(name, value)| *name != "name" && !value.is_null());
        sources.next().map_or("unknown".to_owned(), |(name, _)| name.clone())
    };
    let types: BTreeSet<String> = bad.iter().map(|volume| source(volume)).collect();
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", "volumes", bad.len()),
        quoted(bad.iter().map(|volume| volume.text("name"))),
        plural("uses", "use", bad.len()),
        plural("restricted volume type", "restricted volume types", types.len()),
        quoted(types)
    );
    finding("restricted volume types", detail)
}

fn run_as_non_root(pod: &Pod<'_>) -> Finding {
    if pod.has_own_users() {
        return None;
    }
    let of = |security: &Value| security.at("runAsNonRoot").as_bool();
    let whole = of(pod.security());
    let explicit = pod.those(|container| of(container.at("securityContext")) == Some(false));
    let who = setters(whole == Some(false), &explicit);
    let reason = "runAsNonRoot != true";
    if !who.is_empty() {
        return finding(reason, format!("{who} must not set securityContext.runAsNonRoot=false"));
    }
    let implicit = pod.those(|container| of(container.at("securityContext")).is_none() && whole != Some(true));
    if implicit.is_empty() {
        return None;
    }
    finding(reason, format!("pod or {} must set securityContext.runAsNonRoot=true", named(&implicit)))
}

fn run_as_user(pod: &Pod<'_>) -> Finding {
    let is_root = |security: &Value| security.int_if_set("runAsUser") == Some(0);
    let containers = pod.those(|container| is_root(container.at("securityContext")));
    let who = setters(is_root(pod.security()), &containers);
    if pod.has_own_users() || who.is_empty() {
        return None;
    }
    finding("runAsUser=0", format!("{who} must not set runAsUser=0"))
}

fn seccomp(pod: &Pod<'_>) -> Finding {
    if pod.is_windows() {
        return None;
    }
    if let Some(found) = seccomp_fields(pod) {
        return Some(found);
    }
    let has = |security: &Value| security.has("seccompProfile");
    let implicit = pod.those(|container| !has(container.at("securityContext")) && !has(pod.security()));
    if implicit.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        named(&implicit)
    );
    finding("seccompProfile", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violations(level: Level, metadata: &Value, spec: &Value) -> Vec<String> {
        at(level, Version::LATEST, metadata, spec)
    }

    fn at(level: Level, version: Version, metadata: &Value, spec: &Value) -> Vec<String> {
        let found = super::violations(Standard { level, version }, metadata, spec);
        found.iter().map(|one| described(std::slice::from_ref(one))).collect()
    }

    #[test]
    fn a_version_forbids_only_what_it_knows() {
        let spec = json!({
            "hostUsers": false,
            "securityContext": {"runAsNonRoot": true, "sysctls": [{"name": "net.ipv4.tcp_rmem"}]},
            "containers": [{"name": "c", "securityContext": {
                "allowPrivilegeEscalation": false, "runAsUser": 0, "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            }, "livenessProbe": {"httpGet": {"host": "example.com"}}}],
        });
        let of = |minor: u32| at(Level::Restricted, Version::of(minor), &Value::Null, &spec);
        let reasons = |found: Vec<String>| -> Vec<String> {
            found.iter().map(|one| one.split(" (").next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(reasons(of(22)), ["forbidden sysctls"]);
        assert_eq!(reasons(of(31)), ["forbidden sysctls", "runAsUser=0"]);
        assert_eq!(reasons(of(32)), ["runAsUser=0"]);
        assert_eq!(reasons(of(34)), ["probe or lifecycle host", "runAsUser=0"]);
        assert_eq!(reasons(of(35)), ["probe or lifecycle host"]);
        let annotated = json!({"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}});
        let found = at(Level::Baseline, Version::of(18), &annotated, &json!({"containers": []}));
        let annotation = "seccomp.security.alpha.kubernetes.io/pod=\"unconfined\"";
        assert_eq!(found, [format!("seccompProfile (forbidden annotation {annotation})")]);
    }

    #[test]
    fn a_hardened_pod_meets_every_standard() {
        let spec = json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "c", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            }}],
        });
        assert_eq!(violations(Level::Restricted, &Value::Null, &spec), Vec::<String>::new());
    }

    #[test]
    fn violations_of_a_level_name_their_containers() {
        let spec = json!({"hostNetwork": true, "containers": [{"name": "c", "securityContext": {"privileged": true}}]});
        assert_eq!(
            violations(Level::Baseline, &Value::Null, &spec),
            [
                "host namespaces (hostNetwork=true)",
                "privileged (container \"c\" must not set securityContext.privileged=true)",
            ]
        );
        assert!(violations(Level::Privileged, &Value::Null, &spec).is_empty());
    }
}
