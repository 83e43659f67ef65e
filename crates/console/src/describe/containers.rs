//! The containers of a pod or of a template.

use coracle_meta::{Quantity, go_quote};
use serde_json::Value;

use super::Description;
use super::times::rfc1123;
use crate::values::{is, list, map, name, namespace, number, show, text};

/// The containers of one list.
pub(super) struct Containers<'c> {
    pub(super) title: &'c str,
    pub(super) containers: &'c [Value],
    pub(super) statuses: &'c [Value],
    /// The pod whose fields the variables have as their values.
    pub(super) pod: Option<&'c Value>,
    /// The indentation of templates.
    pub(super) space: &'c str,
}

pub(super) fn containers(out: &mut Description, all: &Containers<'_>) {
    let none = if all.containers.is_empty() { " <none>" } else { "" };
    out.line(0, format!("{}{}:{none}", all.space, all.title));
    for container in all.containers {
        let name = text(container, "/name");
        let status = all.statuses.iter().find(|status| text(status, "/name") == name);
        let indent = if all.space.is_empty() { "" } else { " " };
        out.line(1, format!("{indent}{name}:"));
        basics(out, container, status);
        command(out, container);
        if let Some(status) = status {
            state(out, "State", &status["state"]);
            if map(status, "/lastState/terminated").is_some() {
                state(out, "Last State", &status["lastState"]);
            }
            out.field(2, "Ready", if is(status, "/ready") { "True" } else { "False" });
            out.field(2, "Restart Count", number(status, "/restartCount").unwrap_or_default());
        }
        resources(out, 2, &container["resources"]);
        for (title, field) in
            [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")]
        {
            if container[field].is_object() {
                out.field(2, title, probe(&container[field]));
            }
        }
        environment(out, container, all.pod);
        mounts(out, container);
    }
}

fn basics(out: &mut Description, container: &Value, status: Option<&Value>) {
    if let Some(status) = status {
        out.field(2, "Container ID", text(status, "/containerID"));
    }
    out.field(2, "Image", text(container, "/image"));
    if let Some(status) = status {
        out.field(2, "Image ID", text(status, "/imageID"));
    }
    let ports = |field: &str| -> Vec<String> {
        let port = |port: &Value| format!("{}/{}", number(port, field).unwrap_or_default(), text(port, "/protocol"));
        list(container, "/ports").iter().map(port).collect()
    };
    for (title, field) in [("Port", "/containerPort"), ("Host Port", "/hostPort")] {
        match ports(field).as_slice() {
            [] => out.field(2, title, "<none>"),
            [one] => out.field(2, title, one),
            several => out.field(2, &format!("{title}s"), several.join(", ")),
        }
    }
    out.field_if(2, "SeccompProfile", text(container, "/securityContext/seccompProfile/type"));
    out.field_if(3, "LocalhostProfile", text(container, "/securityContext/seccompProfile/localhostProfile"));
}

fn command(out: &mut Description, container: &Value) {
    for (title, field) in [("Command", "/command"), ("Args", "/args")] {
        let words = list(container, field);
        if !words.is_empty() {
            out.line(2, format!("{title}:"));
        }
        for line in words.iter().filter_map(Value::as_str).flat_map(|word| word.split('\n')) {
            out.line(3, line);
        }
    }
}

/// Limits and requests.
pub(super) fn resources(out: &mut Description, level: usize, resources: &Value) {
    for (title, field) in [("Limits", "/limits"), ("Requests", "/requests")] {
        let Some(amounts) = map(resources, field) else { continue };
        out.line(level, format!("{title}:"));
        amounts.iter().for_each(|(name, amount)| out.field(level + 1, name, show(amount)));
    }
}

fn state(out: &mut Description, title: &str, state: &Value) {
    if state["running"].is_object() {
        out.field(2, title, "Running");
        out.field(3, "Started", rfc1123(&state["running"]["startedAt"]));
    } else if state["terminated"].is_object() {
        let ended = &state["terminated"];
        out.field(2, title, "Terminated");
        out.field_if(3, "Reason", text(ended, "/reason"));
        out.field_if(3, "Message", text(ended, "/message"));
        out.field(3, "Exit Code", number(ended, "/exitCode").unwrap_or_default());
        if let Some(signal) = number(ended, "/signal").filter(|signal| *signal > 0) {
            out.field(3, "Signal", signal);
        }
        out.field(3, "Started", rfc1123(&ended["startedAt"]));
        out.field(3, "Finished", rfc1123(&ended["finishedAt"]));
    } else {
        out.field(2, title, "Waiting");
        out.field_if(3, "Reason", text(state, "/waiting/reason"));
    }
}

/// A probe on one line. In Kubernetes: `describe.DescribeProbe`.
fn probe(probe: &Value) -> String {
    let number = |field: &str| number(probe, field).unwrap_or_default();
    let attributes = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        number("/initialDelaySeconds"),
        number("/timeoutSeconds"),
        number("/periodSeconds"),
        number("/successThreshold"),
        number("/failureThreshold")
    );
    if probe["exec"].is_object() {
        let words: Vec<String> = list(probe, "/exec/command").iter().map(show).collect();
        return format!("exec [{}] {attributes}", words.join(" "));
    }
    if probe["httpGet"].is_object() {
        let get = &probe["httpGet"];
        let (scheme, host) = (text(get, "/scheme").to_lowercase(), text(get, "/host"));
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let path = text(get, "/path");
        let path = if path.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        return format!("http-get {scheme}://{host}:{}{path} {attributes}", show(&get["port"]));
    }
    if probe["tcpSocket"].is_object() {
        let socket = &probe["tcpSocket"];
        return format!("tcp-socket {}:{} {attributes}", text(socket, "/host"), show(&socket["port"]));
    }
    if probe["grpc"].is_object() {
        let grpc = &probe["grpc"];
        return format!("grpc <pod>:{} {} {attributes}", show(&grpc["port"]), text(grpc, "/service"));
    }
    format!("unknown {attributes}")
}

fn environment(out: &mut Description, container: &Value, pod: Option<&Value>) {
    let sources = list(container, "/envFrom");
    if !sources.is_empty() {
        out.line(2, "Environment Variables from:");
    }
    for source in sources {
        let (from, reference) = if source["configMapRef"].is_object() {
            ("ConfigMap", &source["configMapRef"])
        } else {
            ("Secret", &source["secretRef"])
        };
        let (name, optional) = (text(reference, "/name"), is(reference, "/optional"));
        let prefix = match text(source, "/prefix") {
            "" => String::new(),
            prefix => format!(" with prefix '{prefix}'"),
        };
        out.line(3, format!("{name}\t{from}{prefix}\tOptional: {optional}"));
    }
    let variables = list(container, "/env");
    out.line(2, if variables.is_empty() { "Environment:\t<none>" } else { "Environment:" });
    for variable in variables {
        let name = text(variable, "/name");
        for (index, line) in value(variable, container, pod).split('\n').enumerate() {
            out.line(3, if index == 0 { format!("{name}:\t{line}") } else { format!("\t{line}") });
        }
    }
}

fn value(variable: &Value, container: &Value, pod: Option<&Value>) -> String {
    let from = &variable["valueFrom"];
    let key = |reference: &Value, of: &str| {
        let (key, name, optional) = (text(reference, "/key"), text(reference, "/name"), is(reference, "/optional"));
        format!("<set to the key '{key}' {of} '{name}'>\tOptional: {optional}")
    };
    if from["fieldRef"].is_object() {
        let (version, path) = (text(from, "/fieldRef/apiVersion"), text(from, "/fieldRef/fieldPath"));
        let value = pod.map(|pod| field(pod, path)).unwrap_or_default();
        return format!("{value} ({version}:{path})");
    }
    if from["resourceFieldRef"].is_object() {
        let resource = text(from, "/resourceFieldRef/resource");
        return format!("{} ({resource})", amount(container, &from["resourceFieldRef"]));
    }
    if from["secretKeyRef"].is_object() {
        return key(&from["secretKeyRef"], "in secret");
    }
    if from["configMapKeyRef"].is_object() {
        return key(&from["configMapKeyRef"], "of config map");
    }
    text(variable, "/value").to_owned()
}

/// A field of a pod as the value of a variable. In Kubernetes: `fieldpath.ExtractFieldPathAsString`.
fn field(pod: &Value, path: &str) -> String {
    if let Some((map, rest)) = path.split_once("['") {
        let key = rest.strip_suffix("']").unwrap_or(rest);
        let pointer = format!("/{}", map.replace('.', "/"));
        return pod.pointer(&pointer).and_then(|map| map.get(key)).map(show).unwrap_or_default();
    }
    match path {
        "metadata.name" => name(pod).to_owned(),
        "metadata.namespace" => namespace(pod).to_owned(),
        "metadata.uid" => text(pod, "/metadata/uid").to_owned(),
        "metadata.labels" | "metadata.annotations" => {
            let pairs = map(pod, &format!("/{}", path.replace('.', "/")));
            let pairs = pairs.into_iter().flatten().map(|(key, value)| format!("{key}={}", go_quote(&show(value))));
            pairs.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A resource of a container as the value of a variable, in units of its divisor.
fn amount(container: &Value, reference: &Value) -> String {
    let resource = text(reference, "/resource");
    let amount = container["resources"].pointer(&format!("/{}", resource.replacen('.', "/", 1)));
    let read = |value: &Value| Quantity::parse(&show(value)).ok();
    let amount = amount.and_then(read).unwrap_or_default();
    let divisor = read(&reference["divisor"]).filter(|divisor| !divisor.is_zero()).unwrap_or(Quantity::of(1));
    let milli = resource.ends_with(".cpu");
    let (amount, divisor) =
        if milli { (amount.milli_value(), divisor.milli_value()) } else { (amount.value(), divisor.value()) };
    let units = amount.saturating_add(divisor.max(1) - 1) / divisor.max(1);
    match units {
        0 if matches!(resource, "limits.cpu" | "limits.memory") => "node allocatable".to_owned(),
        units => units.to_string(),
    }
}

fn mounts(out: &mut Description, container: &Value) {
    let mut mounts: Vec<&Value> = list(container, "/volumeMounts").iter().collect();
    let none = if mounts.is_empty() { "\t<none>" } else { "" };
    out.line(2, format!("Mounts:{none}"));
    mounts.sort_by_key(|mount| text(mount, "/mountPath"));
    for mount in mounts {
        let access = if is(mount, "/readOnly") { "ro" } else { "rw" };
        let path = match text(mount, "/subPath") {
            "" => String::new(),
            path => format!(",path={}", go_quote(path)),
        };
        out.line(3, format!("{} from {} ({access}{path})", text(mount, "/mountPath"), text(mount, "/name")));
    }
    let mut devices: Vec<&Value> = list(container, "/volumeDevices").iter().collect();
    if !devices.is_empty() {
        out.line(2, format!("Devices:{none}"));
    }
    devices.sort_by_key(|device| text(device, "/devicePath"));
    for device in devices {
        out.line(3, format!("{} from {}", text(device, "/devicePath"), text(device, "/name")));
    }
}
