use std::sync::Arc;

use coracle_registry::{KindSpec, Subresource, TableColumn};
use coracle_release::Release;
use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object, names};
use serde_json::Value;

use super::node_proxy::NodeProxy;
use crate::built_in::{built_in, drop_newly_used};
use crate::cells::text_or;
use crate::field_checks::{Wrong, cidr, each_invalid, quantity_not_negative, required_one_of};
use crate::pod_spec::whole_if_counted;

/// `nodes`. In Kubernetes: `pkg/registry/core/node`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        takes_new_status: true,
        prepare_create: |object, _, release| {
            drop_newly_used(object, None, &UNSERVED);
            if !release.enabled(FEATURES) {
                object.remove("status.declaredFeatures");
            }
        },
        prepare_update: |new, old, _, _| {
            drop_newly_used(new, Some(old), &["spec.configSource", "spec.podPreemptionPolicy"]);
        },
        // A status keeps the features that it declares, also while the gate is off.
        prepare_status: |new, old, _, _| drop_newly_used(new, Some(old), &["status.config"]),
        store_directory: "minions".to_owned(),
        set_defaults: |object, _| set_defaults(object),
        validate: wrong,
        validate_change: wrong_change,
        validate_status: wrong_status_change,
        warnings: |new, _, _| {
            let what = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
            (!new.text("spec.externalID").is_empty()).then(|| what.to_owned()).into_iter().collect()
        },
        selectable: Some(&["spec.unschedulable"]),
        field: |object, name| (name == "spec.unschedulable").then(|| object.flag("spec.unschedulable").to_string()),
        columns: columns(release),
        subresources: vec![Subresource::Connect(Arc::new(NodeProxy))],
        ..built_in(release, "", "v1", "nodes")
    }
}

/// Fields that a new node cannot set: retired ones, and those of feature gates that are off by default.
const UNSERVED: [&str; 3] = ["spec.configSource", "spec.podPreemptionPolicy", "status.config"];

/// The gate of the features that a node declares.
const FEATURES: &str = "NodeDeclaredFeatures";

fn set_defaults(object: &mut Object) {
    let cidr = object.text("spec.podCIDR").to_owned();
    if !cidr.is_empty() && object.texts("spec.podCIDRs").is_empty() {
        object.set("spec.podCIDRs", vec![cidr]);
    }
    let capacity = object.field("status.capacity").cloned();
    if let Some(capacity) = capacity
        && object.field("status.allocatable").is_none_or(Value::is_null)
    {
        object.set("status.allocatable", capacity);
    }
}

fn columns(release: &Release) -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Status", "The status of the node", |object| state(object).into()),
        TableColumn::text("Roles", "The roles of the node", |object| text_or(&roles(object), "<none>")),
        TableColumn::age(),
        TableColumn::text(
            "Version",
            "Kubelet Version reported by the node.",
            |object| object.text("status.nodeInfo.kubeletVersion").into(),
        ),
        TableColumn::text(
            "Internal-IP",
            "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
            |object| address(object, "InternalIP"),
        ).wide(),
        TableColumn::text(
            "External-IP",
            "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
            |object| address(object, "ExternalIP"),
        ).wide(),
        TableColumn::text(
            "OS-Image",
            "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).",
            |object| text_or(object.text("status.nodeInfo.osImage"), "<unknown>"),
        ).wide(),
        TableColumn::text(
            "Kernel-Version",
            "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
            if release.has("KernelVersionsNameTheArchitecture") { kernel_and_architecture } else { kernel },
        ).wide(),
        TableColumn::text(
            "Container-Runtime",
            "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
            |object| text_or(object.text("status.nodeInfo.containerRuntimeVersion"), "<unknown>"),
        ).wide(),
    ]
}

fn kernel(object: &Object) -> Value {
    text_or(object.text("status.nodeInfo.kernelVersion"), "<unknown>")
}

fn kernel_and_architecture(object: &Object) -> Value {
    let kernel = kernel(object);
    match object.text("status.nodeInfo.architecture") {
        "" => kernel,
        architecture => format!("{} ({architecture})", kernel.as_str().unwrap_or_default()).into(),
    }
}

fn state(object: &Object) -> String {
    let ready = object.list("status.conditions").iter().rfind(|condition| condition.text("type") == "Ready");
    let state = match ready.map(|condition| condition.text("status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if object.flag("spec.unschedulable") { format!("{state},SchedulingDisabled") } else { state.to_owned() }
}

/// From the labels `node-role.kubernetes.io/<role>` and `kubernetes.io/role`, sorted.
fn roles(object: &Object) -> String {
    let labels = object.labels();
    let roles: BTreeSet<&str> = labels
        .iter()
        .filter_map(|(name, value)| match name.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if name == "kubernetes.io/role" => Some(value.as_str()),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address(object: &Object, kind: &str) -> Value {
    let address = object.list("status.addresses").iter().find(|address| address.text("type") == kind);
    address.map_or("<none>", |address| address.text("address")).into()
}

/// In Kubernetes: `ValidateNode`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let mut wrong = wrong_taints(object);
    wrong.extend(wrong_status(object));
    let swap = object.at("status.nodeInfo.swap");
    if swap.has("capacity") && swap.int("capacity") <= 0 {
        let field = "metadata.nodeSwapStatus.capacity";
        wrong.push(FieldError::invalid(field, swap.int("capacity"), "must be greater than zero"));
    }
    let blocks = object.texts("spec.podCIDRs");
    for (at, block) in blocks.iter().enumerate() {
        wrong.extend(cidr(block, &format!("spec.podCIDRs[{at}]"), release));
    }
    let families: BTreeSet<bool> = blocks.iter().map(|block| block.contains(':')).collect();
    if blocks.len() > 1 && families.len() < blocks.len() {
        let what = "may specify no more than one CIDR for each IP family";
        wrong.push(FieldError::invalid("spec.podCIDRs", blocks, what));
    }
    wrong
}

/// The errors of the resources and the features that a node reports.
/// In Kubernetes: `ValidateNodeResources`, `validateNodeDeclaredFeatures`.
fn wrong_status(object: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    for list in ["status.capacity", "status.allocatable"] {
        for (name, amount) in object.entries(list) {
            let path = format!("{list}.{name}");
            wrong.extend(quantity_not_negative(amount, &path));
            wrong.extend(whole_if_counted(name, amount, &path));
        }
    }
    let features = object.texts("status.declaredFeatures");
    for (at, feature) in features.iter().enumerate() {
        let path = |at: usize| format!("status.declaredFeatures[{at}]");
        if let Some(what) = wrong_feature(feature) {
            wrong.push(FieldError::invalid(path(at), feature.as_str(), what));
        }
        match features.get(at + 1) {
            Some(next) if next == feature => wrong.push(FieldError::duplicate(path(at + 1), next.as_str())),
            Some(next) if next < feature => {
                let what = "list must be sorted alphabetically";
                wrong.push(FieldError::invalid(path(at + 1), next.as_str(), what));
            }
            _ => {}
        }
    }
    wrong
}

/// In Kubernetes: `validateNodeDeclaredFeatureName`.
fn wrong_feature(name: &str) -> Option<String> {
    const LONGEST: usize = 253;
    if name.len() > LONGEST {
        return Some(format!("invalid feature name {name:?}: must be no more than {LONGEST} characters"));
    }
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|sign| sign.is_ascii_alphanumeric());
    let fits = name.starts_with(|sign: char| sign.is_ascii_uppercase()) && name.split('/').all(is_word);
    (!fits).then(|| {
        format!(
            "invalid feature name {name:?}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        )
    })
}

/// The errors of the taints of a node, whose paths are below the metadata.
fn wrong_taints(object: &Object) -> Wrong {
    let taints = object.list("spec.taints");
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, taint) in taints.iter().enumerate() {
        let path = format!("metadata.taints[{at}]");
        let (key, value) = (taint.text("key"), taint.text("value"));
        wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
        let sentences = names::label_value(value);
        if !sentences.is_empty() {
            wrong.push(FieldError::invalid(format!("{path}.value"), value, sentences.join(";")));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        wrong.extend(required_one_of(taint, "effect", &path, &effects));
        if !seen.insert((key, taint.text("effect"))) {
            let mut error = FieldError::duplicate(path, taint.clone());
            "taints must be unique by key and effect pair".clone_into(&mut error.detail);
            wrong.push(error);
        }
    }
    wrong
}

/// The errors of a write of the status: those of any change, and those of the content.
fn wrong_status_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    let mut wrong = wrong_status(new);
    wrong.extend(wrong_change(new, old, release));
    wrong.extend(wrong_taints(new));
    wrong
}

fn wrong_provider_change(new: &str, old: &str, release: &Release) -> Option<FieldError> {
    const PATH: &str = "spec.providerID";
    if old.is_empty() || new == old {
        return None;
    }
    if !release.has("ProviderErrorsByCase") {
        let what = "node updates may not change providerID except from \"\" to valid";
        return Some(FieldError::forbidden(PATH, what));
    }
    let done = if new.is_empty() { "cleared" } else { "modified" };
    Some(FieldError::invalid(PATH, Value::Null, format!("field cannot be {done} once set")).declared())
}

/// The immutable fields of a node. In Kubernetes: `ValidateNodeUpdate`.
fn wrong_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    const ADDRESSES: &str = "status.addresses";
    let mut wrong = Wrong::new();
    let addresses = new.list(ADDRESSES);
    let mut seen = BTreeSet::new();
    for (at, address) in addresses.iter().enumerate() {
        if !seen.insert(JsonKey(address)) {
            let printed = format!("{{\"Type\":{},\"Address\":{}}}", address.at("type"), address.at("address"));
            let error = FieldError::duplicate(format!("{ADDRESSES}[{at}]"), address.clone());
            wrong.push(error.printed_as(printed));
        }
    }
    let blocks = (old.list("spec.podCIDRs"), new.list("spec.podCIDRs"));
    let changed = match blocks {
        ([], _) => 0,
        (before, now) if before.len() != now.len() => 1,
        (before, now) => before.iter().zip(now).filter(|(before, now)| before != now).count(),
    };
    for _ in 0..changed {
        let what = "node updates may not change podCIDR except from \"\" to valid";
        wrong.push(FieldError::forbidden("spec.podCIDRs", what));
    }
    wrong.extend(wrong_provider_change(new.text("spec.providerID"), old.text("spec.providerID"), release));
    if new.text("spec.externalID") != old.text("spec.externalID") {
        wrong.push(FieldError::forbidden("spec.externalID", "may not be updated"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_taint_is_there_once_and_a_family_has_one_block() {
        let taint = json!({"key": "a", "effect": "NoSchedule"});
        let spec = json!({"taints": [taint, taint], "podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]});
        let object = Object::from_value(json!({"spec": spec})).unwrap();
        let fields: Vec<_> = wrong(&object, &Release::default()).into_iter().map(|error| error.field).collect();
        assert_eq!(fields, ["metadata.taints[1]", "spec.podCIDRs"]);
        let spec = json!({"taints": [taint], "podCIDRs": ["10.0.0.0/24", "fd00::/64"]});
        assert!(wrong(&Object::from_value(json!({"spec": spec})).unwrap(), &Release::default()).is_empty());
    }
}
