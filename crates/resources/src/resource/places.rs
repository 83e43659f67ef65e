//! The nodes that can use devices: one, some or all of them.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};
use crate::pod_spec::node_selector;

/// The places of all devices of a slice. In Kubernetes: `validateResourceSliceSpec`.
pub(super) fn wrong_slice_places(spec: &Value) -> Wrong {
    const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut wrong = Wrong::new();
    let mut places = Vec::new();
    match spec.at("nodeName").as_str() {
        None => {}
        Some("") => {
            let what = "must be either unset or set to a non-empty string";
            wrong.push(FieldError::invalid("spec.nodeName", "", what));
        }
        Some(name) => {
            places.push("`nodeName`");
            wrong.extend(each_invalid("spec.nodeName", name, names::dns1123_subdomain(name)));
        }
    }
    let selector = spec.at("nodeSelector");
    if !selector.is_null() {
        places.push("`nodeSelector`");
        wrong.extend(node_selector(selector, "spec.nodeSelector"));
        let terms = selector.list("nodeSelectorTerms");
        if terms.len() != 1 {
            let path = "spec.nodeSelector.nodeSelectorTerms";
            let what = "must have exactly one node selector term";
            wrong.push(FieldError::invalid(path, terms, what).printed_as(printed(terms)));
        }
    }
    for field in ["allNodes", "perDeviceNodeSelection"] {
        wrong.extend(choice(spec, field, "spec", &mut places));
    }
    match places.len() {
        0 => wrong.push(FieldError::required("spec", ONE)),
        1 => {}
        _ => {
            let printed = format!("{{{}}}", places.join(", "));
            wrong.push(FieldError::invalid("spec", printed, format!("{ONE}, but multiple fields are set")));
        }
    }
    wrong
}

/// The places of one device, which it has only in a slice whose devices have their own. In Kubernetes: `validateDevice`.
pub(super) fn wrong_device_places(device: &Value, is_own: bool, path: &str) -> Wrong {
    if !is_own {
        let has_place = ["nodeName", "nodeSelector", "allNodes"].iter().any(|field| device.has(field));
        let what = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to \
                    true in the ResourceSlice spec";
        return has_place.then(|| FieldError::invalid(path, Value::Null, what)).into_iter().collect();
    }
    const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
                       `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    let mut wrong = Wrong::new();
    let mut places = Vec::new();
    let name_path = format!("{path}.nodeName");
    match device.at("nodeName").as_str() {
        None => {}
        Some("") => wrong.push(FieldError::invalid(name_path, "", "must not be empty")),
        Some(name) => {
            places.push("`nodeName`");
            wrong.extend(each_invalid(&name_path, name, names::dns1123_subdomain(name)));
        }
    }
    let selector = device.at("nodeSelector");
    if !selector.is_null() {
        places.push("`nodeSelector`");
        wrong.extend(node_selector(selector, &format!("{path}.nodeSelector")));
    }
    wrong.extend(choice(device, "allNodes", path, &mut places));
    match places.len() {
        0 => wrong.push(FieldError::required(path, ONE)),
        1 => {}
        _ => wrong.push(FieldError::invalid(path, format!("{{{}}}", places.join(", ")), ONE)),
    }
    wrong
}

/// A choice that is either made or absent.
fn choice(holder: &Value, field: &'static str, path: &str, places: &mut Vec<&'static str>) -> Option<FieldError> {
    if !holder.at(field).as_bool()? {
        let what = "must be either unset or set to true";
        return Some(FieldError::invalid(format!("{path}.{field}"), false, what));
    }
    places.push(if field == "allNodes" { "`allNodes`" } else { "`perDeviceNodeSelection`" });
    None
}

/// Terms as Go prints them.
fn printed(terms: &[Value]) -> String {
    let all = |items: &[Value], one: &dyn Fn(&Value) -> String| match items {
        [] => "null".to_owned(),
        items => format!("[{}]", items.iter().map(one).collect::<Vec<_>>().join(",")),
    };
    let requirement = |requirement: &Value| {
        let values = all(requirement.list("values"), &Value::to_string);
        format!("{{\"Key\":{},\"Operator\":{},\"Values\":{values}}}", requirement.at("key"), requirement.at("operator"))
    };
    all(terms, &|term| {
        let list = |name: &str| all(term.list(name), &requirement);
        format!("{{\"MatchExpressions\":{},\"MatchFields\":{}}}", list("matchExpressions"), list("matchFields"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(wrong: &[FieldError]) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_device_has_its_own_places_where_its_slice_says_so() {
        assert_eq!(wrong_device_places(&json!({}), false, "d"), []);
        assert_eq!(said(&wrong_device_places(&json!({"allNodes": true}), false, "d")).len(), 1);
        assert_eq!(wrong_device_places(&json!({"nodeName": "n"}), true, "d"), []);
        let one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` \
                   is set to true in the ResourceSlice spec";
        assert_eq!(said(&wrong_device_places(&json!({}), true, "d")), [format!("d: Required value: {one}")]);
        let both = json!({"nodeName": "n", "allNodes": true});
        let what = format!("d: Invalid value: \"{{`nodeName`, `allNodes`}}\": {one}");
        assert_eq!(said(&wrong_device_places(&both, true, "d")), [what]);
        let what = "d.allNodes: Invalid value: false: must be either unset or set to true";
        assert_eq!(said(&wrong_device_places(&json!({"nodeName": "n", "allNodes": false}), true, "d")), [what]);
    }
}
