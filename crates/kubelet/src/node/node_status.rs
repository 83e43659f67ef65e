//! The Node object as a simulated node registers and reports it.

use std::net::SocketAddr;

use coracle_ambient::{Random, Timestamp};
use coracle_api::core_v1::{
    ContainerImage, DaemonEndpoint, Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeStatus, NodeSystemInfo,
    Taint,
};
use coracle_kubelet_api::SIMULATED;
use coracle_meta::{Quantity, format_time, names};
use serde_json::{Value, json};

use crate::NodeSpec;
use crate::node::pressure::{Pressed, PressureCondition};

/// The spec of a simulated node for a Node that a user created.
pub(crate) fn spec_of(node: &Node) -> NodeSpec {
    let mut spec = NodeSpec::new(node.metadata.name.as_deref().unwrap_or_default());
    for (resource, amount) in &node.status.capacity {
        spec.capacity.insert(resource.clone(), amount.to_string());
    }
    spec
}

/// What an existing Node lacks of what its node registers: a patch of its labels, and one of its status. In Kubernetes:
/// `reconcileExtendedResource`, `updateDefaultLabels` and the setters of `nodestatus`.
pub(crate) fn lacks(found: &Node, own: &Node) -> (Option<Value>, Option<Value>) {
    let has = &found.metadata.labels;
    let labels: serde_json::Map<String, Value> = (own.metadata.labels.iter())
        .filter(|(name, _)| !has.contains_key(*name))
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let (said, own) = (&found.status, &own.status);
    let mut status = serde_json::Map::new();
    let mut put = |is_lacking: bool, name: &str, value: Value| {
        if is_lacking {
            status.insert(name.to_owned(), value);
        }
    };
    put(said.capacity.is_empty(), "capacity", json!(own.capacity));
    put(said.allocatable.is_empty(), "allocatable", json!(own.allocatable));
    let is_elsewhere = external_ip(own).is_some()
        && (external_ip(own), own.daemon_endpoints.kubelet_endpoint.port)
            != (external_ip(said), said.daemon_endpoints.kubelet_endpoint.port);
    put(said.addresses.is_empty() || is_elsewhere, "addresses", json!(own.addresses));
    put(said.node_info.boot_id != own.node_info.boot_id, "nodeInfo", json!(own.node_info));
    let has_no_port = said.daemon_endpoints.kubelet_endpoint.port == 0;
    put(has_no_port || is_elsewhere, "daemonEndpoints", json!(own.daemon_endpoints));
    put(said.images.is_empty(), "images", json!(own.images));
    let labels = (!labels.is_empty()).then(|| json!({"metadata": {"labels": labels}}));
    (labels, (!status.is_empty()).then(|| json!({ "status": status })))
}

/// The type of the address at which other processes reach the node.
const EXTERNAL_IP: &str = "ExternalIP";

/// The most images that a Node shows.
const MAX_IMAGES: usize = 50;

/// The default port of a kubelet's API.
const KUBELET_PORT: i32 = 10250;

/// The Node object that a node registers.
pub(crate) fn node(spec: &NodeSpec, address: &str, boots: u32, version: &str, now: Timestamp) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(spec.name.clone());
    let system = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", spec.name.as_str()),
        ("kubernetes.io/os", "linux"),
    ];
    node.metadata.labels = system.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    node.metadata.labels.extend(spec.labels.clone());
    node.metadata.annotations = [
        (SIMULATED.to_owned(), "true".to_owned()),
        ("volumes.kubernetes.io/controller-managed-attach-detach".to_owned(), "true".to_owned()),
    ]
    .into();
    node.spec.taints = spec
        .taints
        .iter()
        .map(|(key, value, effect)| Taint {
            key: key.clone(),
            value: value.clone(),
            effect: effect.clone(),
            ..Taint::default()
        })
        .collect();
    let amounts = spec.capacity.iter().filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount).ok()?)));
    node.status.capacity = amounts.collect();
    node.status.allocatable = node.status.capacity.clone();
    node.status.addresses = [("InternalIP", address), ("Hostname", spec.name.as_str())]
        .map(|(type_, address)| NodeAddress { type_: type_.to_owned(), address: address.to_owned(), unknown: None })
        .into();
    node.status.conditions = conditions(None, &Pressed::default(), now);
    let kubelet_endpoint = DaemonEndpoint { port: KUBELET_PORT, unknown: None };
    node.status.daemon_endpoints = NodeDaemonEndpoints { kubelet_endpoint, unknown: None };
    node.status.node_info = system_info(&spec.name, boots, version);
    node.status.images = vec![ContainerImage {
        names: vec!["registry.k8s.io/pause:3.10.1".to_owned()],
        size_bytes: 320_448,
        unknown: None,
    }];
    node
}

/// Publishes the address and port at which other processes reach the kubelet API of a node.
pub(crate) fn serve_at(node: &mut Node, endpoint: SocketAddr) {
    let address = endpoint.ip().to_string();
    node.status.addresses.push(NodeAddress { type_: EXTERNAL_IP.to_owned(), address, unknown: None });
    node.status.daemon_endpoints.kubelet_endpoint.port = endpoint.port().into();
}

fn external_ip(status: &NodeStatus) -> Option<&str> {
    let found = status.addresses.iter().find(|address| address.type_ == EXTERNAL_IP);
    found.map(|address| address.address.as_str())
}

/// The conditions of the node: pressures, and ready.
fn said(pressed: &Pressed) -> impl Iterator<Item = PressureCondition> {
    let ready = if pressed.is_shutting_down {
        ("Ready", "False", "KubeletNotReady", "node is shutting down")
    } else {
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    };
    pressed.said().into_iter().chain([ready])
}

/// The conditions of the node. A condition that does not change keeps its transition time.
pub(crate) fn conditions(before: Option<&Node>, pressed: &Pressed, now: Timestamp) -> Vec<NodeCondition> {
    let condition = |(type_, status, reason, message): PressureCondition| {
        let same = before.and_then(|node| node.condition(type_)).filter(|condition| condition.status == status);
        NodeCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_heartbeat_time: Some(format_time(now)),
            last_transition_time: same
                .and_then(|condition| condition.last_transition_time.clone())
                .or_else(|| Some(format_time(now))),
            unknown: None,
        }
    };
    said(pressed).map(condition).collect()
}

/// The images of a Node after a pull: those that it shows and those that the node has pulled, the largest first; none if
/// it shows all. In Kubernetes: `nodestatus.Images`, with `nodeStatusMaxImages`.
pub(crate) fn images_with(node: &Node, pulled: Vec<ContainerImage>) -> Option<Vec<ContainerImage>> {
    let shown = &node.status.images;
    let is_shown =
        |image: &ContainerImage| shown.iter().any(|other| image.names.iter().all(|name| other.names.contains(name)));
    let mut images = shown.clone();
    images.extend(pulled.into_iter().filter(|image| !is_shown(image)));
    images.sort_by(|a, b| b.size_bytes.cmp(&a.size_bytes).then_with(|| a.names.cmp(&b.names)));
    images.truncate(MAX_IMAGES);
    (images.len() > shown.len()).then_some(images)
}

/// The patch that reports the status of the node.
pub(crate) fn status_patch(
    before: &Node,
    pressed: &Pressed,
    images: Option<Vec<ContainerImage>>,
    now: Timestamp,
) -> Value {
    let mut status = json!({"conditions": conditions(Some(before), pressed, now)});
    let allocatable = allocatable_changes(before);
    if !allocatable.is_empty() {
        status["allocatable"] = allocatable.into();
    }
    if let Some(images) = images {
        status["images"] = json!(images);
    }
    json!({"metadata": {"uid": before.metadata.uid}, "status": status})
}

/// Whether the API shows the status that the node would report, apart from times.
pub(crate) fn is_reported(node: &Node, pressed: &Pressed) -> bool {
    let is_shown = |(type_, status, reason, _): PressureCondition| {
        node.condition(type_).is_some_and(|shown| shown.status == status && shown.reason == reason)
    };
    said(pressed).all(is_shown) && allocatable_changes(node).is_empty()
}

/// The extended resources in the capacity that the allocatable resources do not match; null for those that were
/// removed. In Kubernetes: `nodestatus.MachineInfo`.
fn allocatable_changes(node: &Node) -> serde_json::Map<String, Value> {
    let (capacity, allocatable) = (&node.status.capacity, &node.status.allocatable);
    let is_extended = |name: &&String| names::is_extended_resource(name);
    let added = capacity.iter().filter(|(name, amount)| is_extended(name) && allocatable.get(*name) != Some(amount));
    let gone = allocatable.keys().filter(|name| is_extended(name) && !capacity.contains_key(*name));
    let added = added.map(|(name, amount)| (name.clone(), json!(amount)));
    added.chain(gone.map(|name| (name.clone(), Value::Null))).collect()
}

/// The ids of a machine are derived from its name, so that they survive a restart.
fn system_info(name: &str, boots: u32, version: &str) -> NodeSystemInfo {
    let random = Random::from_seed(0).split(name);
    let id = |what: &str| random.split(what).uuid();
    NodeSystemInfo {
        architecture: "amd64".to_owned(),
        boot_id: if boots == 0 { id("boot") } else { id(&format!("boot {boots}")) },
        container_runtime_version: "containerd://2.1.4".to_owned(),
        kernel_version: "6.12.0".to_owned(),
        kube_proxy_version: String::new(),
        kubelet_version: version.to_owned(),
        machine_id: id("machine").replace('-', ""),
        operating_system: "linux".to_owned(),
        os_image: "Coracle".to_owned(),
        system_uuid: id("system"),
        ..NodeSystemInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;
    use coracle_release::Release;

    #[test]
    fn a_lost_node_reports_again_with_new_times() {
        let (then, now) = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z").map_times();
        let mut registered = node(&NodeSpec::new("node-1").with_label("zone", "a"), "172.18.0.2", 0, "v1", then);
        assert_eq!(registered.metadata.labels["kubernetes.io/hostname"], "node-1");
        assert!(is_reported(&registered, &Pressed::default()));
        registered.status.conditions[3].status = "Unknown".to_owned();
        assert!(!is_reported(&registered, &Pressed::default()));
        let reported = conditions(Some(&registered), &Pressed::default(), now);
        assert_eq!(reported[3].last_transition_time.as_deref(), Some("2026-01-01T00:05:00Z"));
        assert_eq!(reported[0].last_transition_time.as_deref(), Some("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn an_extended_resource_is_allocatable_as_the_node_has_it() {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let mut node = node(&NodeSpec::new("node-1"), "172.18.0.2", 0, "v1", now);
        node.status.allocatable.insert("cpu".to_owned(), Quantity::parse("1").unwrap());
        assert!(
            is_reported(&node, &Pressed::default()),
            "the kubelet leaves resources that are not extended as they are"
        );
        node.status.capacity.insert("example.com/dongle".to_owned(), Quantity::parse("4").unwrap());
        node.status.allocatable.insert("example.com/gone".to_owned(), Quantity::parse("1").unwrap());
        assert!(!is_reported(&node, &Pressed::default()));
        let patch = status_patch(&node, &Pressed::default(), None, now);
        assert_eq!(patch["status"]["allocatable"], json!({"example.com/dongle": "4", "example.com/gone": null}));
    }

    #[test]
    fn a_node_shows_each_pulled_image_once_and_the_largest_first() {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let mut node = node(&NodeSpec::new("node-1"), "172.18.0.2", 0, Release::default().git_version(), now);
        let image = |name: &str, size_bytes| ContainerImage { names: vec![name.to_owned()], size_bytes, unknown: None };
        let images = images_with(&node, vec![image("r.io/a:1", 500), image("r.io/b:1", 9_000_000)]).unwrap();
        let names: Vec<&str> = images.iter().map(|image| image.names[0].as_str()).collect();
        assert_eq!(names, ["r.io/b:1", "registry.k8s.io/pause:3.10.1", "r.io/a:1"]);
        node.status.images = images;
        assert_eq!(images_with(&node, vec![image("r.io/a:1", 500)]), None);
        let many = (0..60).map(|index| image(&format!("r.io/many:{index}"), 10)).collect();
        assert_eq!(images_with(&node, many).unwrap().len(), MAX_IMAGES);
    }

    trait MapTimes {
        fn map_times(self) -> (Timestamp, Timestamp);
    }

    impl MapTimes for (&str, &str) {
        fn map_times(self) -> (Timestamp, Timestamp) {
            (parse_time(self.0).unwrap(), parse_time(self.1).unwrap())
        }
    }
}
