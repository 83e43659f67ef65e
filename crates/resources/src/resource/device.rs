//! A device of a slice: its attributes and capacities. In Kubernetes: `validateDevice`.

use coracle_meta::FieldError;
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_release::Release;
use serde_json::Value;

use super::binding_conditions::wrong_binding_conditions;
use super::bounded::wrong_list;
use super::counters::wrong_consumption;
use super::device_taint::{MOST_TAINTS, wrong_taint};
use super::naming::{wrong_label, wrong_qualified_name};
use super::places::wrong_device_places;
use super::request_policy::wrong_capacity;
use crate::built_in::{self, GatedFields};
use crate::field_checks::{Wrong, same};

const MOST_ATTRIBUTES: usize = 32;
const LONGEST_VALUE: usize = 64;
const LONGEST_KEY: usize = 63 + 1 + 32;

/// The fields of a device that a feature adds.
const FEATURES: [GatedFields<'_>; 5] = [
    ("DRADeviceTaints", &["taints"]),
    ("DRAPartitionableDevices", &["consumesCounters", "nodeName", "nodeSelector", "allNodes"]),
    ("DRADeviceBindingConditions", &["bindingConditions", "bindingFailureConditions", "bindsToNode"]),
    ("DRAConsumableCapacity", &["allowMultipleAllocations"]),
    ("DRANodeAllocatableResources", &["nodeAllocatableResourceMappings", "nodeAllocatableResources"]),
];

/// Drops fields of features that the release does not enable: taints, counters, per-device nodes, binding conditions,
/// devices with multiple allocations, lists of values, and resources of the node.
pub(super) fn drop_disabled(device: &mut Tree, release: &Release) {
    built_in::drop_disabled(device, &FEATURES, release);
    if !release.enabled("DRAConsumableCapacity") {
        each_value(device, "capacity", |capacity| capacity.drop_fields(&["requestPolicy"]));
    }
    if !release.enabled("DRAListTypeAttributes") {
        each_value(device, "attributes", |attribute| attribute.drop_fields(&LISTS));
    }
    if !release.enabled("DRADeviceCompatibilityGroups") {
        device.each_in("consumesCounters", |counters| counters.drop_fields(&["compatibilityGroups"]));
    }
}

/// The lists of values of an attribute.
const LISTS: [&str; 4] = ["ints", "bools", "strings", "versions"];

fn each_value(holder: &mut Tree, map: &str, edit: impl Fn(&mut Tree)) {
    for value in holder.object_in(map).into_iter().flat_map(Tree::values_mut) {
        if let Value::Object(value) = value {
            edit(value);
        }
    }
}

/// The errors of a device; `spec` is that of its slice, and `old` the device before the change.
pub(super) fn wrong_device(device: &Value, old: Option<&Value>, spec: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = wrong_label(device.text("name"), &format!("{path}.name"));
    let count = device.entries("attributes").count() + device.entries("capacity").count();
    if count > MOST_ATTRIBUTES {
        let what = format!("the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}");
        wrong.push(FieldError::invalid(path, count, what));
    }
    for (name, attribute) in device.entries("attributes") {
        let path = format!("{path}.attributes[{}]", shortened(name));
        wrong.extend(wrong_qualified_name(name, &path));
        wrong.extend(wrong_attribute(attribute, &path, release));
    }
    for (name, capacity) in device.entries("capacity") {
        let path = format!("{path}.capacity[{}]", shortened(name));
        wrong.extend(wrong_qualified_name(name, &path));
        wrong.extend(wrong_capacity(capacity, device.flag("allowMultipleAllocations"), &path, release));
    }
    if old.is_none_or(|old| !same(old.at("taints"), device.at("taints"))) {
        let path = format!("{path}.taints");
        wrong.extend(wrong_list(device.list("taints"), MOST_TAINTS, &path, |taint, path| {
            wrong_taint(taint, None, path)
        }));
    }
    wrong.extend(wrong_consumption(device.list("consumesCounters"), &format!("{path}.consumesCounters")));
    wrong.extend(wrong_device_places(device, spec.flag("perDeviceNodeSelection"), path));
    wrong.extend(wrong_binding_conditions(device, path));
    wrong
}

/// Removes the middle of a key that is too long. In Kubernetes: `truncateIfTooLong`.
fn shortened(key: &str) -> String {
    if key.len() <= LONGEST_KEY {
        return key.to_owned();
    }
    let kept = LONGEST_KEY - "...".len();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (head, tail) = (&key.as_bytes()[..kept.div_ceil(2)], &key.as_bytes()[key.len() - kept / 2..]);
    format!("{}...{}", text(head), text(tail))
}

fn wrong_attribute(attribute: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    if let Some(text) = attribute.at("string").as_str()
        && text.len() > LONGEST_VALUE
    {
        wrong.push(FieldError::too_long(format!("{path}.string"), LONGEST_VALUE));
    }
    if let Some(version) = attribute.at("version").as_str() {
        let path = format!("{path}.version");
        if !is_semantic_version(version) {
            let what = "must be a string compatible with semver.org spec 2.0.0";
            wrong.push(FieldError::invalid(&path, version, what));
        }
        if version.len() > LONGEST_VALUE {
            wrong.push(FieldError::too_long(path, LONGEST_VALUE));
        }
    }
    let values = ["int", "bool", "string", "version"];
    if release.has("DeclaredDeviceRules") {
        wrong.extend(wrong_union(attribute, path));
        return wrong;
    }
    let what = "exactly one value must be specified";
    match values.iter().filter(|value| attribute.has(value)).count() {
        0 => wrong.push(FieldError::invalid(path, "", what)),
        1 => {}
        _ => {
            let printed = go_attribute(attribute, release);
            wrong.push(FieldError::invalid(path, attribute.clone(), what).printed_as(printed));
        }
    }
    wrong
}

/// An attribute as Go prints its internal type.
fn go_attribute(attribute: &Value, release: &Release) -> String {
    const ONE: [(&str, &str); 4] =
        [("IntValue", "int"), ("BoolValue", "bool"), ("StringValue", "string"), ("VersionValue", "version")];
    const MANY: [(&str, &str); 4] =
        [("IntValues", "ints"), ("BoolValues", "bools"), ("StringValues", "strings"), ("VersionValues", "versions")];
    let many: &[_] = if release.has("AttributeLists") { &MANY } else { &[] };
    let fields = ONE.iter().chain(many).map(|(field, value)| format!("{field:?}:{}", attribute.at(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// The error of an attribute without a value, or with several. In Kubernetes: `validate.Union`.
fn wrong_union(attribute: &Value, path: &str) -> Option<FieldError> {
    const ALL: [&str; 8] = ["int", "bool", "string", "version", "ints", "bools", "strings", "versions"];
    let listed = |fields: &[&str]| fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
    let set: Vec<&str> = ALL.into_iter().filter(|value| attribute.has(value)).collect();
    match set.len() {
        0 => Some(FieldError::invalid(path, "", format!("must specify one of: {}", listed(&ALL)))),
        1 => None,
        _ => {
            let what = format!("must specify exactly one of: {}", listed(&ALL));
            Some(FieldError::invalid(path, format!("{{{}}}", listed(&set)), what))
        }
    }
}

/// Whether a text is a semantic version (semver.org).
fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'-');
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|sign| sign.is_ascii_digit());
    let is_number = |part: &str| is_digits(part) && (part == "0" || !part.starts_with('0'));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && before.is_none_or(|before| {
            before.split('.').all(|part| if is_digits(part) { is_number(part) } else { is_word(part) })
        })
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(device: &Value) -> Vec<String> {
        wrong_device(device, None, &Value::Null, "d", &Release::named("1.35").unwrap())
            .iter()
            .map(FieldError::message)
            .collect()
    }

    #[test]
    fn an_attribute_has_one_value() {
        let device = |attribute: Value| json!({"name": "gpu-0", "attributes": {"a.io/b": attribute}});
        assert_eq!(said(&device(json!({"int": 0}))), [""; 0]);
        let what = "exactly one value must be specified";
        assert_eq!(said(&device(json!({}))), [format!("d.attributes[a.io/b]: Invalid value: \"\": {what}")]);
        let printed = r#"{"IntValue":null,"BoolValue":true,"StringValue":"x","VersionValue":null}"#;
        assert_eq!(
            said(&device(json!({"bool": true, "string": "x"}))),
            [format!("d.attributes[a.io/b]: Invalid value: {printed}: {what}")]
        );
        let long = "x".repeat(65);
        assert_eq!(
            said(&device(json!({"string": long}))),
            ["d.attributes[a.io/b].string: Too long: may not be more than 64 bytes"]
        );
    }

    #[test]
    fn versions_are_those_of_semver() {
        for good in ["0.0.0", "1.2.3-alpha.1", "1.0.0-0a", "1.0.0+01.b", "1.0.0--x+-"] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.3-a..b", "1.2.3-ä"] {
            assert!(!is_semantic_version(bad), "{bad}");
        }
    }

    #[test]
    fn a_device_has_so_many_attributes_and_capacities() {
        let names = |prefix: &str, value: &Value| -> Value {
            (0..17).map(|at| (format!("{prefix}{at}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
        };
        let device = json!({"name": "g", "attributes": names("a", &json!({"int": 1})), "capacity": names("c", &json!({"value": "1"}))});
        assert_eq!(
            said(&device),
            ["d: Invalid value: 34: the total number of attributes and capacities must not exceed 32"]
        );
        let key = "k".repeat(100);
        let device = json!({"name": "g", "capacity": {key: {"value": "1"}}});
        let short = format!("{}...{}", "k".repeat(47), "k".repeat(46));
        assert_eq!(said(&device), [format!("d.capacity[{short}]: Too long: may not be more than 32 bytes")]);
    }
}
