//! The defaults of types that several kinds share, such as probes.
//!
//! ```text
//! object --walk along the schema table--> every part of a named type --BY_TYPE--> filled in
//! ```
//! A part is defaulted before the parts inside it, as in Kubernetes: the `SetDefaults_...` functions of `pkg/apis/*/v1`
//! and the `+default` markers. The defaults of a whole kind are in its own file.

use std::sync::{LazyLock, OnceLock};

use coracle_meta::{Object, Quantity};
use coracle_release::Release;
use coracle_schema::{KindSchema, Special, Table, TypeNode, TypeRef};
use serde_json::{Value, json};

use crate::image::tag_of;
use coracle_meta::fields::{Fields, FieldsMut, Tree};

/// Sets the defaults of the parts of an object.
pub(crate) fn fill_parts(schema: &KindSchema, object: &mut Object) {
    object.edit(|tree| fill_struct(schema.root(), tree));
}

fn fill(ty: TypeRef<'_>, value: &mut Value) {
    match (ty.node(), value) {
        (TypeNode::Struct(_), Value::Object(tree)) => fill_struct(ty, tree),
        (TypeNode::List, Value::Array(items)) => {
            if let Some(element) = ty.element() {
                items.iter_mut().for_each(|item| fill(element, item));
            }
        }
        (TypeNode::Map, Value::Object(entries)) => {
            if let Some(element) = ty.element() {
                entries.values_mut().for_each(|value| fill(element, value));
            }
        }
        (TypeNode::Special(Special::Quantity), Value::String(text)) => round_up_to_milli(text),
        _ => {}
    }
}

fn fill_struct(ty: TypeRef<'_>, tree: &mut Tree) {
    if let Some(rule) = rule_of(ty) {
        rule(tree);
    }
    for (name, value) in tree.iter_mut() {
        if name == "metadata" {
            continue;
        }
        if let Some(field) = ty.field(name) {
            fill(field.ty(), value);
        }
    }
}

/// In Kubernetes: `SetDefaults_ResourceList`.
fn round_up_to_milli(text: &mut String) {
    if (text.ends_with('n') || text.ends_with('u'))
        && let Ok(quantity) = Quantity::parse(text)
    {
        *text = Quantity::of_milli(quantity.milli_value()).to_string();
    }
}

/// Sets the defaults of one part.
type Rule = fn(&mut Tree);
/// The rule of each type of a table; made when an object of its release is defaulted first.
type RulesOfTable = OnceLock<Vec<Option<Rule>>>;

fn rule_of(ty: TypeRef<'_>) -> Option<Rule> {
    static RULES: LazyLock<Vec<RulesOfTable>> = LazyLock::new(|| Release::all().map(|_| OnceLock::new()).collect());
    let table = ty.table();
    let rules = RULES.get(table.place_of_release()?)?.get_or_init(|| rules_of(table));
    *rules.get(ty.id()?.index())?
}

/// The rule of each type of a table, up to the last type that has one.
fn rules_of(table: &Table) -> Vec<Option<Rule>> {
    let mut rules = Vec::new();
    for (name, rule) in BY_TYPE {
        // Not each release has each type.
        if let Some(id) = table.id(&format!("io.k8s.api.{name}")) {
            let length = rules.len().max(id.index() + 1);
            rules.resize(length, None);
            rules[id.index()] = Some(*rule);
        }
    }
    rules
}

/// The rules, sorted by the name of the type.
const BY_TYPE: &[(&str, Rule)] = &[
    ("admissionregistration.v1.MatchResources", match_resources),
    ("admissionregistration.v1.MutatingAdmissionPolicySpec", |tree| tree.fill("failurePolicy", "Fail")),
    ("admissionregistration.v1.MutatingWebhook", mutating_webhook),
    ("admissionregistration.v1.NamedRuleWithOperations", rule_scope),
    ("admissionregistration.v1.RuleWithOperations", rule_scope),
    ("admissionregistration.v1.ServiceReference", |tree| tree.fill("port", 443)),
    ("admissionregistration.v1.ValidatingAdmissionPolicySpec", |tree| tree.fill("failurePolicy", "Fail")),
    ("admissionregistration.v1.ValidatingWebhook", webhook),
    ("authentication.v1.TokenRequestSpec", |tree| tree.fill("expirationSeconds", 3600)),
    ("batch.v1.PodFailurePolicyOnPodConditionsPattern", |tree| tree.fill_text("status", "True")),
    ("core.v1.AzureDiskVolumeSource", azure_disk),
    ("core.v1.ConfigMapVolumeSource", default_mode),
    ("core.v1.Container", container),
    ("core.v1.ContainerPort", protocol),
    ("core.v1.DownwardAPIVolumeSource", default_mode),
    ("core.v1.EndpointPort", protocol),
    ("core.v1.EphemeralContainer", container),
    ("core.v1.GRPCAction", |tree| tree.fill("service", "")),
    ("core.v1.HTTPGetAction", http_get),
    ("core.v1.HostPathVolumeSource", |tree| tree.fill("type", "")),
    ("core.v1.ISCSIPersistentVolumeSource", |tree| tree.fill_text("iscsiInterface", "default")),
    ("core.v1.ISCSIVolumeSource", |tree| tree.fill_text("iscsiInterface", "default")),
    ("core.v1.LimitRangeItem", limit_range_item),
    ("core.v1.NamespaceStatus", |tree| tree.fill_text("phase", "Active")),
    ("core.v1.NodeStatus", node_status),
    ("core.v1.ObjectFieldSelector", |tree| tree.fill_text("apiVersion", "v1")),
    ("core.v1.PersistentVolumeClaimSpec", |tree| tree.fill("volumeMode", "Filesystem")),
    ("core.v1.PodSpec", pod_spec),
    ("core.v1.Probe", probe),
    ("core.v1.ProjectedVolumeSource", default_mode),
    ("core.v1.RBDPersistentVolumeSource", rbd),
    ("core.v1.RBDVolumeSource", rbd),
    ("core.v1.ScaleIOPersistentVolumeSource", scale_io),
    ("core.v1.ScaleIOVolumeSource", scale_io),
    ("core.v1.SecretVolumeSource", default_mode),
    ("core.v1.ServiceAccountTokenProjection", |tree| tree.fill("expirationSeconds", 3600)),
    ("core.v1.Volume", volume),
    ("discovery.v1.EndpointPort", endpoint_slice_port),
    ("flowcontrol.v1.ExemptPriorityLevelConfiguration", exempt_level),
    ("flowcontrol.v1.FlowSchemaSpec", |tree| tree.fill_zero("matchingPrecedence", 1000)),
    ("flowcontrol.v1.LimitedPriorityLevelConfiguration", limited_level),
    ("flowcontrol.v1.QueuingConfiguration", queuing),
    ("networking.v1.NetworkPolicyPort", |tree| tree.fill("protocol", "TCP")),
    ("rbac.v1.Subject", subject),
    ("resource.v1.DeviceSubRequest", device_request),
    ("resource.v1.DeviceToleration", |tree| tree.fill_text("operator", "Equal")),
    ("resource.v1.ExactDeviceRequest", device_request),
];

fn pod_spec(spec: &mut Tree) {
    spec.fill_text("dnsPolicy", "ClusterFirst");
    spec.fill_text("restartPolicy", "Always");
    spec.fill("securityContext", json!({}));
    spec.fill("terminationGracePeriodSeconds", 30);
    spec.fill_text("schedulerName", "default-scheduler");
    mirror_service_account(spec);
}

/// `serviceAccount` is the old name of `serviceAccountName`: both always have the same value.
fn mirror_service_account(spec: &mut Tree) {
    let name = match spec.text("serviceAccountName") {
        "" => spec.text("serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if !name.is_empty() {
        spec.insert("serviceAccountName".to_owned(), name.clone().into());
        spec.insert("serviceAccount".to_owned(), name.into());
    }
}

/// The same rule for containers, init containers and ephemeral containers.
fn container(container: &mut Tree) {
    let policy = if tag_of(container.text("image")) == "latest" { "Always" } else { "IfNotPresent" };
    container.fill_text("imagePullPolicy", policy);
    container.fill_text("terminationMessagePath", "/dev/termination-log");
    container.fill_text("terminationMessagePolicy", "File");
}

fn protocol(port: &mut Tree) {
    port.fill_text("protocol", "TCP");
}

fn probe(probe: &mut Tree) {
    probe.fill_zero("timeoutSeconds", 1);
    probe.fill_zero("periodSeconds", 10);
    probe.fill_zero("successThreshold", 1);
    probe.fill_zero("failureThreshold", 3);
}

fn http_get(get: &mut Tree) {
    get.fill_text("path", "/");
    get.fill_text("scheme", "HTTP");
}

/// A volume without a source is an empty directory.
fn volume(volume: &mut Tree) {
    if volume.iter().all(|(name, value)| name == "name" || value.is_null()) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = volume.object_in("image") {
        let policy = if tag_of(image.text("reference")) == "latest" { "Always" } else { "IfNotPresent" };
        image.fill_text("pullPolicy", policy);
    }
}

fn default_mode(source: &mut Tree) {
    source.fill("defaultMode", 0o644);
}

fn azure_disk(source: &mut Tree) {
    source.fill("cachingMode", "ReadWrite");
    source.fill("fsType", "ext4");
    source.fill("readOnly", false);
    source.fill("kind", "Shared");
}

fn rbd(source: &mut Tree) {
    source.fill_text("pool", "rbd");
    source.fill_text("user", "admin");
    source.fill_text("keyring", "/etc/ceph/keyring");
}

fn scale_io(source: &mut Tree) {
    source.fill_text("storageMode", "ThinProvisioned");
    source.fill_text("fsType", "xfs");
}

fn node_status(status: &mut Tree) {
    if status.has("capacity") && !status.has("allocatable") {
        let capacity = status.at("capacity").clone();
        status.insert("allocatable".to_owned(), capacity);
    }
}

/// Limits default to the maximum, requests to the limits and then to the minimum.
fn limit_range_item(item: &mut Tree) {
    if item.text("type") != "Container" {
        return;
    }
    fill_missing(item, "max", "default");
    fill_missing(item, "default", "defaultRequest");
    fill_missing(item, "min", "defaultRequest");
}

fn fill_missing(item: &mut Tree, from: &str, to: &str) {
    let Some(source) = item.at(from).as_object().cloned() else { return };
    if let Some(target) = item.object_made(to) {
        for (resource, amount) in source {
            target.fill(&resource, amount);
        }
    }
}

fn webhook(webhook: &mut Tree) {
    webhook.fill("failurePolicy", "Fail");
    webhook.fill("matchPolicy", "Equivalent");
    webhook.fill("namespaceSelector", json!({}));
    webhook.fill("objectSelector", json!({}));
    webhook.fill("timeoutSeconds", 10);
}

fn mutating_webhook(tree: &mut Tree) {
    webhook(tree);
    tree.fill("reinvocationPolicy", "Never");
}

fn rule_scope(rule: &mut Tree) {
    rule.fill("scope", "*");
}

fn match_resources(constraints: &mut Tree) {
    constraints.fill("matchPolicy", "Equivalent");
    constraints.fill("namespaceSelector", json!({}));
    constraints.fill("objectSelector", json!({}));
}

fn endpoint_slice_port(port: &mut Tree) {
    port.fill("name", "");
    port.fill("protocol", "TCP");
}

fn exempt_level(level: &mut Tree) {
    level.fill("nominalConcurrencyShares", 0);
    level.fill("lendablePercent", 0);
}

fn limited_level(level: &mut Tree) {
    level.fill("nominalConcurrencyShares", 30);
    level.fill("lendablePercent", 0);
}

fn queuing(queuing: &mut Tree) {
    queuing.fill_zero("handSize", 8);
    queuing.fill_zero("queues", 64);
    queuing.fill_zero("queueLengthLimit", 50);
}

fn subject(subject: &mut Tree) {
    if matches!(subject.text("kind"), "User" | "Group") {
        subject.fill_text("apiGroup", "rbac.authorization.k8s.io");
    }
}

fn device_request(request: &mut Tree) {
    request.fill_text("allocationMode", "ExactCount");
    if request.text("allocationMode") == "ExactCount" {
        request.fill_zero("count", 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_sorted_so_that_they_can_be_found() {
        assert!(BY_TYPE.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn a_volume_without_a_source_is_an_empty_directory() {
        let mut tree = json!({"name": "x", "secret": null}).as_object().unwrap().clone();
        volume(&mut tree);
        assert_eq!(tree["emptyDir"], json!({}));
        let mut tree = json!({"name": "x", "secret": {}}).as_object().unwrap().clone();
        volume(&mut tree);
        assert!(!tree.contains_key("emptyDir"));
    }

    #[test]
    fn requests_of_a_limit_range_come_from_limits_before_minima() {
        let mut tree = json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}})
            .as_object()
            .unwrap()
            .clone();
        limit_range_item(&mut tree);
        assert_eq!(tree["default"], json!({"cpu": "2"}));
        assert_eq!(tree["defaultRequest"], json!({"cpu": "2", "memory": "1Mi"}));
    }

    #[test]
    fn amounts_below_a_thousandth_are_rounded_up() {
        let mut text = "1500u".to_owned();
        round_up_to_milli(&mut text);
        assert_eq!(text, "2m");
    }
}
