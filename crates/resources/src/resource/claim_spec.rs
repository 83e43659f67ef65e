//! The spec of a resource claim, in a claim or in a template. In Kubernetes: `validateResourceClaimSpec`.

use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_meta::{FieldError, names};
use coracle_release::Release;
use serde_json::Value;

use super::bounded::{wrong_list, wrong_set};
use super::configuration::{MOST_CONFIGURATIONS, Standing, wrong_configuration};
use super::device_taint::wrong_tolerations;
use super::naming::{wrong_declared_name, wrong_fully_qualified_name, wrong_label, wrong_request_reference};
use super::selector::wrong_selectors;
use crate::built_in::{self, GatedFields};
use crate::field_checks::{Wrong, each_invalid};

/// The maximum number of requests in a claim.
pub(super) const MOST_REQUESTS: usize = 32;
const MOST_ALTERNATIVES: usize = 8;
const MOST_CONSTRAINTS: usize = 32;

/// The fields of a request that a feature adds.
const FEATURES: [GatedFields<'_>; 3] = [
    ("DRADeviceTaints", &["tolerations"]),
    ("DRAConsumableCapacity", &["capacity"]),
    ("DRADerivedAttributes", &["derivedAttributes"]),
];

/// Drops fields of features that the release does not enable: consumable capacity and device taints.
/// In Kubernetes: `resourceclaimspec.DropDisabledFields`.
pub(super) fn drop_disabled(spec: &mut Tree, release: &Release) {
    let Some(devices) = spec.object_in("devices") else { return };
    if !release.enabled("DRAConsumableCapacity") {
        devices.each_in("constraints", |constraint| constraint.drop_fields(&["distinctAttribute"]));
    }
    devices.each_in("requests", |request| {
        if let Some(exactly) = request.object_in("exactly") {
            built_in::drop_disabled(exactly, &FEATURES, release);
        }
        request.each_in("firstAvailable", |alternative| built_in::drop_disabled(alternative, &FEATURES, release));
    });
}

/// The errors of the spec of a claim.
pub(super) fn wrong_claim_spec(spec: &Value, path: &str, release: &Release) -> Wrong {
    let devices = spec.at("devices");
    let path = format!("{path}.devices");
    let requests = devices.list("requests");
    let name = |request: &Value| request.text("name").to_owned();
    let mut wrong = wrong_set(requests, MOST_REQUESTS, &format!("{path}.requests"), wrong_request, name);
    let constraints = devices.list("constraints");
    wrong.extend(wrong_list(constraints, MOST_CONSTRAINTS, &format!("{path}.constraints"), |constraint, path| {
        let mut wrong = wrong_references(constraint, path, requests);
        wrong.extend(wrong_attribute(constraint, path, release));
        wrong
    }));
    let configurations = devices.list("config");
    wrong.extend(wrong_list(configurations, MOST_CONFIGURATIONS, &format!("{path}.config"), |configuration, path| {
        let mut wrong = wrong_references(configuration, path, requests);
        wrong.extend(wrong_configuration(configuration, path, Standing::New));
        wrong
    }));
    wrong
}

/// The errors of references to requests.
pub(super) fn wrong_references(holder: &Value, path: &str, requests: &[Value]) -> Wrong {
    let text = |name: &Value| name.as_str().unwrap_or_default().to_owned();
    let check = |name: &Value, path: &str| wrong_request_reference(&text(name), path, requests);
    wrong_set(holder.list("requests"), MOST_REQUESTS, &format!("{path}.requests"), check, text)
}

fn wrong_request(request: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_label(request.text("name"), &format!("{path}.name"));
    let alternatives = request.list("firstAvailable");
    match (request.at("exactly"), alternatives.is_empty()) {
        (Value::Null, true) => {
            wrong.push(FieldError::required(path, "exactly one of `exactly` or `firstAvailable` is required"));
        }
        (Value::Null, false) => {
            let name = |alternative: &Value| alternative.text("name").to_owned();
            let path = format!("{path}.firstAvailable");
            wrong.extend(wrong_set(alternatives, MOST_ALTERNATIVES, &path, wrong_alternative, name));
        }
        (exactly, true) => wrong.extend(wrong_demand(exactly, &format!("{path}.exactly"))),
        (_, false) => {
            let what = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            wrong.push(FieldError::invalid(path, Value::Null, what));
        }
    }
    wrong
}

fn wrong_alternative(alternative: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_label(alternative.text("name"), &format!("{path}.name"));
    wrong.extend(wrong_demand(alternative, path));
    wrong
}

/// The errors of an exact device request. In Kubernetes: `validateExactDeviceRequest`.
fn wrong_demand(demand: &Value, path: &str) -> Wrong {
    let class = demand.text("deviceClassName");
    let class_path = format!("{path}.deviceClassName");
    let mut wrong = match class {
        "" => vec![FieldError::required(class_path, "")],
        class => each_invalid(&class_path, class, names::dns1123_subdomain(class)),
    };
    wrong.extend(wrong_selectors(demand.list("selectors"), &format!("{path}.selectors")));
    let count = demand.int("count");
    let count_path = format!("{path}.count");
    match demand.text("allocationMode") {
        "All" if count != 0 => {
            let what = "must not be specified when allocationMode is 'All'";
            wrong.push(FieldError::invalid(count_path, count, what));
        }
        "ExactCount" if count <= 0 => {
            wrong.push(FieldError::invalid(count_path, count, "must be greater than zero"));
        }
        "All" | "ExactCount" => {}
        other => {
            let path = format!("{path}.allocationMode");
            wrong.push(FieldError::not_supported(path, other, &["All", "ExactCount"]));
        }
    }
    wrong.extend(wrong_tolerations(demand.list("tolerations"), path));
    wrong
}

/// The errors of the attribute that devices have in common, or in which they differ.
fn wrong_attribute(constraint: &Value, path: &str, release: &Release) -> Wrong {
    let fields = ["matchAttribute", "distinctAttribute"];
    let named = fields.into_iter().find_map(|field| Some((field, constraint.at(field).as_str()?)));
    match named {
        Some((field, name)) if release.has("DeclaredDeviceRules") => {
            wrong_declared_name(name, &format!("{path}.{field}"))
        }
        Some((field, name)) => wrong_fully_qualified_name(name, &format!("{path}.{field}")),
        None if release.enabled("DRAConsumableCapacity") => {
            let what =
                r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#;
            vec![FieldError::required(path, what)]
        }
        None => vec![FieldError::required(format!("{path}.matchAttribute"), "")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(devices: Value) -> Vec<String> {
        wrong_claim_spec(&json!({"devices": devices}), "spec", &Release::named("1.35").unwrap())
            .iter()
            .map(FieldError::message)
            .collect()
    }

    fn exactly() -> Value {
        json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1})
    }

    #[test]
    fn a_request_asks_for_something_in_one_way() {
        assert_eq!(said(json!({"requests": [{"name": "a", "exactly": exactly()}]})), [""; 0]);
        let either = "exactly one of `exactly` or `firstAvailable` is required";
        assert_eq!(
            said(json!({"requests": [{"name": "a"}, {"name": "a", "exactly": exactly(), "firstAvailable": [{}]}]})),
            [
                format!("spec.devices.requests[0]: Required value: {either}"),
                format!("spec.devices.requests[1]: Invalid value: null: {either}, but multiple fields are set"),
                "spec.devices.requests[1]: Duplicate value: \"a\"".to_owned(),
            ]
        );
        let many: Vec<Value> = (0..33).map(|at| json!({"name": format!("r{at}"), "exactly": exactly()})).collect();
        assert_eq!(
            said(json!({"requests": many})),
            ["spec.devices.requests: Too many: 33: must have at most 32 items"]
        );
    }

    #[test]
    fn a_count_goes_with_the_mode() {
        let request = |mode: &str, count: i64| json!({"requests": [{"name": "a", "exactly": {"allocationMode": mode, "count": count}}]});
        let at = "spec.devices.requests[0].exactly";
        let class = format!("{at}.deviceClassName: Required value");
        assert_eq!(
            said(request("All", 2)),
            [
                class.clone(),
                format!("{at}.count: Invalid value: 2: must not be specified when allocationMode is 'All'")
            ]
        );
        assert_eq!(
            said(request("ExactCount", -1)),
            [class.clone(), format!("{at}.count: Invalid value: -1: must be greater than zero")]
        );
        let supported = "supported values: \"All\", \"ExactCount\"";
        assert_eq!(
            said(request("Some", 0)),
            [class, format!("{at}.allocationMode: Unsupported value: \"Some\": {supported}")]
        );
    }

    #[test]
    fn constraints_and_configurations_are_about_requests_of_the_claim() {
        let reference =
            "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
        assert_eq!(
            said(json!({
                "requests": [{"name": "a", "exactly": exactly()}],
                "constraints": [{"requests": ["a", "b", "a"]}],
                "config": [{"requests": ["b"]}, {"opaque": {"driver": "d", "parameters": 1}}],
            })),
            [
                format!("spec.devices.constraints[0].requests[1]: Invalid value: \"b\": {reference}"),
                "spec.devices.constraints[0].requests[2]: Duplicate value: \"a\"".to_owned(),
                "spec.devices.constraints[0].matchAttribute: Required value".to_owned(),
                format!("spec.devices.config[0].requests[0]: Invalid value: \"b\": {reference}"),
                "spec.devices.config[0].opaque: Required value".to_owned(),
                "spec.devices.config[1].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn fields_of_disabled_features_are_dropped() {
        let mut spec = json!({"devices": {
            "requests": [
                {"name": "a", "exactly": {"count": 1, "tolerations": [{}], "capacity": {}}},
                {"name": "b", "firstAvailable": [{"name": "c", "tolerations": []}]},
            ],
            "constraints": [{"distinctAttribute": "a/b"}],
        }});
        drop_disabled(spec.as_object_mut().unwrap(), &Release::named("1.35").unwrap());
        let kept = json!({"devices": {
            "requests": [{"name": "a", "exactly": {"count": 1}}, {"name": "b", "firstAvailable": [{"name": "c"}]}],
            "constraints": [{}],
        }});
        assert_eq!(spec, kept);
    }
}
