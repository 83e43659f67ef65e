//! In Kubernetes: `pkg/apis/storage/validation`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use crate::checks::{
    Wrong, each_invalid, immutable, join, label_selector, not_negative, one_of, quantity_not_negative, same,
};

const MOST_PARAMETERS: usize = 512;
const MOST_BYTES_OF_PARAMETERS: usize = 256 << 10;
/// Of the identity that a driver gives a node.
const LONGEST_NODE_ID: usize = 256;
const SHORTEST_TOKEN: i64 = 600;
const LONGEST_TOKEN: i64 = 1 << 32;

/// A storage class. What may not change is wrong in an update only.
pub(super) fn wrong_class(object: &Object) -> Wrong {
    let mut wrong = provisioner(object, "provisioner");
    wrong.extend(parameters(object));
    if !object.text(&["reclaimPolicy"]).is_empty() {
        wrong.extend(one_of(object, "reclaimPolicy", "", &["Delete", "Retain"]));
    }
    wrong.extend(one_of(object, "volumeBindingMode", "", &["Immediate", "WaitForFirstConsumer"]));
    wrong.extend(topologies(object.list("allowedTopologies")));
    wrong
}

pub(super) fn wrong_change_of_class(new: &Object, old: &Object) -> Wrong {
    let mut wrong = forbidden_changes(new, old, &["parameters", "provisioner", "reclaimPolicy"]);
    wrong.extend(immutable(new, old, "volumeBindingMode"));
    wrong
}

pub(super) fn wrong_attributes_class(object: &Object) -> Wrong {
    let mut wrong = provisioner(object, "driverName");
    wrong.extend(parameters(object));
    if object.entries("parameters").count() == 0 {
        wrong.push(FieldError::required("parameters", "must contain at least one key/value pair"));
    }
    wrong
}

pub(super) fn wrong_change_of_attributes_class(new: &Object, old: &Object) -> Wrong {
    forbidden_changes(new, old, &["driverName", "parameters"])
}

fn forbidden_changes(new: &Object, old: &Object, fields: &[&str]) -> Wrong {
    let changed = fields.iter().filter(|field| !same(new.at(field), old.at(field)));
    changed.map(|field| FieldError::forbidden(*field, format!("updates to {field} are forbidden."))).collect()
}

fn provisioner(object: &Object, field: &str) -> Wrong {
    match object.text(&[field]) {
        "" => vec![FieldError::required(field, "")],
        name => {
            let name = name.to_lowercase();
            each_invalid(field, &name, names::qualified_name(&name))
        }
    }
}

fn parameters(object: &Object) -> Wrong {
    let count = object.entries("parameters").count();
    if count > MOST_PARAMETERS {
        return vec![FieldError::too_long("parameters", MOST_PARAMETERS)];
    }
    let mut wrong = Wrong::new();
    let mut size = 0;
    for (name, value) in object.entries("parameters") {
        if name.is_empty() {
            wrong.push(FieldError::invalid("parameters", "", "field can not be empty."));
        }
        size += name.len() + value.as_str().map_or(0, str::len);
    }
    if size > MOST_BYTES_OF_PARAMETERS {
        wrong.push(FieldError::too_long("parameters", MOST_BYTES_OF_PARAMETERS));
    }
    wrong
}

fn topologies(terms: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, term) in terms.iter().enumerate() {
        let path = format!("allowedTopologies[{at}].matchLabelExpressions");
        let mut keys = BTreeSet::new();
        for (at, expression) in term.list("matchLabelExpressions").iter().enumerate() {
            let path = format!("{path}[{at}]");
            let values = expression.list("values");
            if values.is_empty() {
                wrong.push(FieldError::required(format!("{path}.values"), ""));
            }
            for (at, value) in values.iter().enumerate() {
                if values[..at].contains(value) {
                    wrong.push(FieldError::duplicate(format!("{path}.values[{at}]"), value.clone()));
                }
            }
            let key = expression.text("key");
            wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
            if !keys.insert(key) {
                wrong.push(FieldError::duplicate(format!("{path}.key"), key));
            }
        }
        if terms[..at].iter().any(|earlier| same(earlier, term)) {
            wrong.push(FieldError::duplicate(path, ""));
        }
    }
    wrong
}

pub(super) fn wrong_driver(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    if spec.has("fsGroupPolicy") {
        wrong.extend(one_of(spec, "fsGroupPolicy", "spec", &["File", "None", "ReadWriteOnceWithFSType"]));
    }
    wrong.extend(token_requests(spec.list("tokenRequests")));
    for mode in spec.list("volumeLifecycleModes") {
        let known = ["Persistent", "Ephemeral"];
        if !known.iter().any(|known| known == mode) {
            wrong.push(FieldError::not_supported("spec.volumeLifecycleModes", mode.clone(), &known));
        }
    }
    if let Some(period) = spec.int_if_set("nodeAllocatableUpdatePeriodSeconds")
        && period < 10
    {
        let what = "must be greater than or equal to 10 seconds";
        wrong.push(FieldError::invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, what));
    }
    if let Some(flag) = spec.at("serviceAccountTokenInSecrets").as_bool()
        && spec.list("tokenRequests").is_empty()
    {
        let what = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        wrong.push(FieldError::invalid("spec.serviceAccountTokenInSecrets", flag, what));
    }
    wrong
}

fn token_requests(requests: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, request) in requests.iter().enumerate() {
        let path = format!("spec.tokenRequests[{at}]");
        let audience = request.text("audience");
        if requests[..at].iter().any(|earlier| earlier.text("audience") == audience) {
            wrong.push(FieldError::duplicate(format!("{path}.audience"), audience));
            continue;
        }
        let Some(seconds) = request.int_if_set("expirationSeconds") else { continue };
        let path = format!("{path}.expirationSeconds");
        if seconds < SHORTEST_TOKEN {
            let what = "may not specify a duration less than 10 minutes";
            wrong.push(FieldError::invalid(&path, seconds, what));
        }
        if seconds > LONGEST_TOKEN {
            let what = "may not specify a duration larger than 2^32 seconds";
            wrong.push(FieldError::invalid(&path, seconds, what));
        }
    }
    wrong
}

/// The field is called `attachRequired`; the message of Kubernetes names another.
pub(super) fn wrong_change_of_driver(new: &Object, old: &Object) -> Wrong {
    let mut wrong = immutable(new, old, "spec.attachRequired");
    wrong.iter_mut().for_each(|error| "spec.attachedRequired".clone_into(&mut error.field));
    wrong.extend(immutable(new, old, "spec.volumeLifecycleModes"));
    wrong
}

/// What is wrong with the name of a driver, where another object names one.
fn driver_name(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut wrong = Wrong::new();
    if name.len() > 63 {
        wrong.push(FieldError::too_long(path, 63));
    }
    wrong.extend(each_invalid(path, name, names::dns1123_subdomain(&name.to_lowercase())));
    wrong
}

pub(super) fn wrong_node(object: &Object) -> Wrong {
    let drivers = object.list("spec.drivers");
    let mut wrong = Wrong::new();
    for (at, driver) in drivers.iter().enumerate() {
        let path = format!("spec.drivers[{at}]");
        let name = driver.text("name");
        wrong.extend(driver_name(name, &format!("{path}.name")));
        let id = driver.text("nodeID");
        if id.is_empty() {
            wrong.push(FieldError::required(format!("{path}.nodeID"), ""));
        }
        if id.len() > LONGEST_NODE_ID {
            let what = format!("must be {LONGEST_NODE_ID} characters or less");
            wrong.push(FieldError::invalid(format!("{path}.nodeID"), id, what));
        }
        wrong.extend(not_negative(driver.at("allocatable"), "count", &format!("{path}.allocatable")));
        if drivers[..at].iter().any(|earlier| earlier.text("name") == name) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        let keys = driver.list("topologyKeys");
        for (at, key) in keys.iter().enumerate() {
            let text = key.as_str().unwrap_or_default();
            if text.is_empty() {
                wrong.push(FieldError::required(&path, ""));
            }
            if keys[..at].contains(key) {
                wrong.push(FieldError::duplicate(&path, text));
            }
            wrong.extend(each_invalid(&path, text, names::qualified_name(text)));
        }
    }
    wrong
}

pub(super) fn wrong_capacity(object: &Object) -> Wrong {
    let mut wrong = label_selector(object.at("nodeTopology"), "nodeTopology");
    let class = object.text(&["storageClassName"]);
    wrong.extend(each_invalid("storageClassName", class, names::dns1123_subdomain(class)));
    wrong.extend(quantity_not_negative(object.at("capacity"), "capacity"));
    wrong
}

pub(super) fn wrong_change_of_capacity(new: &Object, old: &Object) -> Wrong {
    let mut wrong = immutable(new, old, "nodeTopology");
    wrong.extend(immutable(new, old, "storageClassName"));
    wrong
}

pub(super) fn wrong_attachment(object: &Object) -> Wrong {
    const EXACTLY_ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let spec = object.at("spec");
    let attacher = spec.text("attacher");
    let mut wrong = driver_name(attacher, "spec.attacher");
    // Two checks say so, each by itself.
    if attacher.is_empty() {
        wrong.push(FieldError::required("spec.attacher", ""));
    }
    let source = spec.at("source");
    let path = "spec.source";
    match (source.has("inlineVolumeSpec"), source.at("persistentVolumeName").as_str()) {
        (false, None) => wrong.push(FieldError::required(path, EXACTLY_ONE)),
        (true, Some(_)) => wrong.push(FieldError::forbidden(path, EXACTLY_ONE)),
        (false, Some("")) => {
            let what = "must specify non empty persistentVolumeName";
            wrong.push(FieldError::required(join(path, "persistentVolumeName"), what));
        }
        _ => {}
    }
    if let Some(volume) = source.at("persistentVolumeName").as_str() {
        let path = join(path, "persistentVolumeName");
        wrong.extend(each_invalid(&path, volume, names::dns1123_subdomain(volume)));
    }
    let node = spec.text("nodeName");
    wrong.extend(each_invalid("spec.nodeName", node, names::dns1123_subdomain(node)));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(check: fn(&Object) -> Wrong, object: Value) -> Vec<String> {
        check(&Object::from_value(object).unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_class_names_its_provisioner_and_knows_its_words() {
        let good = json!({"provisioner": "a/b", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"});
        assert!(messages(wrong_class, good.clone()).is_empty());
        let mut bad = good;
        bad["reclaimPolicy"] = "Recycle".into();
        bad["provisioner"] = "".into();
        let said = messages(wrong_class, bad);
        let policy = "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"";
        assert_eq!(said, ["provisioner: Required value", policy]);
    }

    #[test]
    fn an_attachment_has_one_source() {
        let said = messages(wrong_attachment, json!({"spec": {"attacher": "a.b", "nodeName": "n", "source": {}}}));
        let want = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        assert_eq!(said, [format!("spec.source: Required value: {want}")]);
    }

    #[test]
    fn a_driver_is_there_once_on_a_node() {
        let driver = json!({"name": "d.io", "nodeID": "n", "topologyKeys": ["zone", "zone"]});
        let said = messages(wrong_node, json!({"spec": {"drivers": [driver, {"name": "d.io", "nodeID": "n"}]}}));
        let want = ["spec.drivers[0]: Duplicate value: \"zone\"", "spec.drivers[1].name: Duplicate value: \"d.io\""];
        assert_eq!(said, want);
    }
}
