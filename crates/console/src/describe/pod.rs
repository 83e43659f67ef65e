//! Pods and templates of pods.

use serde_json::Value;

use super::containers::{Containers, containers, resources};
use super::labels::{annotations, labels, metadata, tolerations};
use super::times::{rfc1123, since};
use super::volumes::volumes;
use super::{Description, Facts, events};
use crate::values::{list, map, name, namespace, number, show, text};

pub(super) fn pod(pod: &Value, facts: &Facts) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(pod));
    out.field(0, "Namespace", namespace(pod));
    if let Some(priority) = number(pod, "/spec/priority") {
        out.field(0, "Priority", priority);
    }
    out.field_if(0, "Priority Class Name", text(pod, "/spec/priorityClassName"));
    out.field_if(0, "Runtime Class Name", text(pod, "/spec/runtimeClassName"));
    out.field_if(0, "Service Account", text(pod, "/spec/serviceAccountName"));
    match text(pod, "/spec/nodeName") {
        "" => out.field(0, "Node", "<none>"),
        node => out.field(0, "Node", format!("{node}/{}", text(pod, "/status/hostIP"))),
    }
    if pod["status"]["startTime"].is_string() {
        out.field(0, "Start Time", rfc1123(&pod["status"]["startTime"]));
    }
    metadata(&mut out, pod);
    phase(&mut out, pod, facts);
    out.field(0, "IP", text(pod, "/status/podIP"));
    match list(pod, "/status/podIPs") {
        [] => out.field(0, "IPs", "<none>"),
        addresses => {
            out.line(0, "IPs:");
            addresses.iter().for_each(|address| out.field(1, "IP", text(address, "/ip")));
        }
    }
    if let Some(controller) = events::controller(pod) {
        out.field(0, "Controlled By", controller);
    }
    out.field_if(0, "NominatedNodeName", text(pod, "/status/nominatedNodeName"));
    if map(pod, "/spec/resources").is_some() {
        out.line(0, "Resources:");
        resources(&mut out, 1, &pod["spec"]["resources"]);
    }
    all_containers(&mut out, pod);
    conditions(&mut out, pod);
    volumes(&mut out, list(pod, "/spec/volumes"), "");
    out.field(0, "QoS Class", text(pod, "/status/qosClass"));
    labels(&mut out, "Node-Selectors", map(pod, "/spec/nodeSelector"));
    tolerations(&mut out, "Tolerations", list(pod, "/spec/tolerations"));
    spread(&mut out, list(pod, "/spec/topologySpreadConstraints"), "");
    events::describe(&mut out, facts);
    out
}

fn phase(out: &mut Description, pod: &Value, facts: &Facts) {
    let phase = text(pod, "/status/phase");
    if pod["metadata"]["deletionTimestamp"].is_string() && !["Failed", "Succeeded"].contains(&phase) {
        let lasts = since(pod, "/metadata/deletionTimestamp", facts.now);
        out.field(0, "Status", format!("Terminating (lasts {lasts})"));
        let grace = number(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or_default();
        out.field(0, "Termination Grace Period", format!("{grace}s"));
    } else {
        out.field(0, "Status", phase);
    }
    out.field_if(0, "Reason", text(pod, "/status/reason"));
    out.field_if(0, "Message", text(pod, "/status/message"));
    out.field_if(0, "SeccompProfile", text(pod, "/spec/securityContext/seccompProfile/type"));
    out.field_if(0, "LocalhostProfile", text(pod, "/spec/securityContext/seccompProfile/localhostProfile"));
}

fn all_containers(out: &mut Description, pod: &Value) {
    let of = |title, field: &str, status: &str| Containers {
        title,
        containers: list(pod, &format!("/spec/{field}")),
        statuses: list(pod, &format!("/status/{status}")),
        pod: Some(pod),
        space: "",
    };
    let init = of("Init Containers", "initContainers", "initContainerStatuses");
    if !init.containers.is_empty() {
        containers(out, &init);
    }
    containers(out, &of("Containers", "containers", "containerStatuses"));
    let ephemeral = of("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses");
    if !ephemeral.containers.is_empty() {
        containers(out, &ephemeral);
    }
}

fn conditions(out: &mut Description, pod: &Value) {
    let conditions = list(pod, "/status/conditions");
    let gates = list(pod, "/spec/readinessGates");
    if !gates.is_empty() {
        out.line(0, "Readiness Gates:\n  Type\tStatus");
        for gate in gates {
            let kind = text(gate, "/conditionType");
            let condition = conditions.iter().find(|condition| condition["type"] == kind);
            let status = condition.map_or("<none>", |condition| text(condition, "/status"));
            out.line(1, format!("{kind} \t{status} "));
        }
    }
    if !conditions.is_empty() {
        out.line(0, "Conditions:\n  Type\tStatus");
        for condition in conditions {
            out.line(1, format!("{} \t{} ", text(condition, "/type"), text(condition, "/status")));
        }
    }
}

fn spread(out: &mut Description, constraints: &[Value], space: &str) {
    if constraints.is_empty() {
        return;
    }
    let mut sorted: Vec<&Value> = constraints.iter().collect();
    sorted.sort_by_key(|constraint| text(constraint, "/topologyKey"));
    out.write(0, &format!("{space}Topology Spread Constraints:\t"));
    for (index, constraint) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.write(0, &format!("{space}\t"));
        }
        let (key, action) = (text(constraint, "/topologyKey"), text(constraint, "/whenUnsatisfiable"));
        let skew = show(&constraint["maxSkew"]);
        let mut line = format!("{key}:{action} when max skew {skew} is exceeded");
        if constraint["labelSelector"].is_object() {
            line.push_str(&format!(" for selector {}", super::labels::selector(&constraint["labelSelector"])));
        }
        out.line(0, line);
    }
}

/// The template of a controller's pods.
pub(super) fn template(out: &mut Description, template: &Value) {
    out.line(0, "Pod Template:");
    labels(out, "  Labels", map(template, "/metadata/labels"));
    if map(template, "/metadata/annotations").is_some() {
        annotations(out, "  Annotations", map(template, "/metadata/annotations"));
    }
    out.field_if(1, "Service Account", text(template, "/spec/serviceAccountName"));
    let of = |title, field: &str| Containers {
        title,
        containers: list(template, &format!("/spec/{field}")),
        statuses: &[],
        pod: None,
        space: "  ",
    };
    let init = of("Init Containers", "initContainers");
    if !init.containers.is_empty() {
        containers(out, &init);
    }
    containers(out, &of("Containers", "containers"));
    volumes(out, list(template, "/spec/volumes"), "  ");
    spread(out, list(template, "/spec/topologySpreadConstraints"), "  ");
    out.field_if(1, "Priority Class Name", text(template, "/spec/priorityClassName"));
    labels(out, "  Node-Selectors", map(template, "/spec/nodeSelector"));
    tolerations(out, "  Tolerations", list(template, "/spec/tolerations"));
}
