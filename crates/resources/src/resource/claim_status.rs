//! The allocation and the consumers of a claim. In Kubernetes: `validateResourceClaimStatusUpdate`.

use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, FieldsMut, edit_at};
use coracle_meta::{FieldError, JsonKey, Object};
use coracle_release::Release;
use serde_json::{Value, json};

use super::binding_conditions::wrong_binding_conditions;
use super::bounded::{duplicates, wrong_list, wrong_set};
use super::claim_spec::{MOST_REQUESTS, wrong_references};
use super::configuration::{MOST_CONFIGURATIONS, Standing, wrong_configuration, wrong_foreign};
use super::device_taint::wrong_tolerations;
use super::naming::{wrong_label, wrong_pool_name, wrong_request_reference};
use super::network::wrong_network;
use crate::built_in::{GatedFields, drop_disabled};
use crate::conditions::wrong_conditions;
use crate::field_checks::{Wrong, immutable, join};
use crate::pod_spec::node_selector;
use crate::storage::csi_driver::wrong_driver_name;

const MOST_CONSUMERS: usize = 256;
const MOST_CONDITIONS: usize = 8;
const LONGEST_DATA: usize = 10 << 10;
const ALLOCATION: &str = "status.allocation";
const RESERVED: &str = "status.reservedFor";

/// The fields of a result of an allocation that a feature adds.
const FEATURES: [GatedFields<'_>; 3] = [
    ("DRAConsumableCapacity", &["shareID", "consumedCapacity"]),
    ("DRADeviceBindingConditions", &["bindingConditions", "bindingFailureConditions"]),
    ("DRAOptionalNodeOperations", &["skipNodeOperations"]),
];

/// Drops fields of features that the release does not enable, and the status of devices that are deallocated.
pub(super) fn prepare(new: &mut Object, old: &Object, release: &Release) {
    edit_at(new, "status.allocation.devices", |devices| {
        devices.each_in("results", |result| {
            drop_disabled(result, &FEATURES, release);
        });
    });
    if !release.enabled("DRAConsumableCapacity") {
        edit_at(new, "status", |status| status.each_in("devices", |device| device.drop_fields(&["shareID"])));
    }
    let (kept, before) = (allocated(new), allocated(old));
    let kept: BTreeSet<_> = kept.iter().map(JsonKey).collect();
    let returned: BTreeSet<_> = before.iter().map(JsonKey).filter(|device| !kept.contains(device)).collect();
    edit_at(new, "status", |status| {
        if let Some(Value::Array(devices)) = status.get_mut("devices") {
            devices.retain(|device| !returned.contains(&JsonKey(&identity(device))));
            if devices.is_empty() {
                status.remove("devices");
            }
        }
    });
}

/// The errors of a change of the status.
pub(super) fn wrong_status(new: &Object, old: &Object, release: &Release) -> Wrong {
    let status = new.at("status");
    let consumers = status.list("reservedFor");
    let uid = |consumer: &Value| consumer.text("uid").to_owned();
    let mut wrong = wrong_set(consumers, MOST_CONSUMERS, RESERVED, wrong_consumer, uid);
    let devices = status.list("devices");
    let allocated = allocated(new);
    let allocated: BTreeSet<_> = allocated.iter().map(JsonKey).collect();
    wrong.extend(wrong_list(devices, usize::MAX, "status.devices", |device, path| {
        wrong_device(device, path, &allocated, release)
    }));
    wrong.extend(duplicates(devices, |device| printed(&identity(device))).map(|(at, printed)| {
        FieldError::duplicate(format!("status.devices[{at}]"), identity(&devices[at])).printed_as(printed)
    }));
    if !consumers.is_empty() {
        let is_added = |consumer: &Value| !old.list(RESERVED).contains(consumer);
        if !new.has(ALLOCATION) {
            wrong.push(FieldError::forbidden(RESERVED, "may not be specified when `allocated` is not set"));
        } else if new.is_terminating() && consumers.iter().any(is_added) {
            let what = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            wrong.push(FieldError::forbidden(RESERVED, what));
        }
    }
    match (new.has(ALLOCATION), old.has(ALLOCATION)) {
        (true, true) => wrong.extend(immutable(new, old, ALLOCATION)),
        (true, false) => wrong.extend(wrong_allocation(new, release)),
        (false, _) => {}
    }
    wrong
}

/// The allocated devices.
fn allocated(claim: &Object) -> Vec<Value> {
    claim.list("status.allocation.devices.results").iter().map(identity).collect()
}

/// The identity of a device.
fn identity(device: &Value) -> Value {
    json!({
        "Driver": device.text("driver"),
        "Pool": device.text("pool"),
        "Device": device.text("device"),
        "ShareID": device.text("shareID"),
    })
}

/// The same as Go prints it.
fn printed(identity: &Value) -> String {
    let fields = ["Driver", "Pool", "Device", "ShareID"];
    let fields: Vec<String> = fields.iter().map(|field| format!("\"{field}\":{}", identity.at(field))).collect();
    format!("{{{}}}", fields.join(","))
}

fn wrong_consumer(consumer: &Value, path: &str) -> Wrong {
    let missing = |field: &&str| consumer.text(field).is_empty();
    let required = |field: &str| FieldError::required(join(path, field), "");
    ["resource", "name", "uid"].iter().filter(|field| missing(field)).map(|field| required(field)).collect()
}

/// In Kubernetes: `validateDeviceStatus`.
fn wrong_device(device: &Value, path: &str, allocated: &BTreeSet<JsonKey<'_>>, release: &Release) -> Wrong {
    let mut wrong = wrong_place(device, path);
    wrong.extend(wrong_share(device, path, release));
    let identity = identity(device);
    if !allocated.contains(&JsonKey(&identity)) {
        let what = "must be an allocated device in the claim";
        let printed = printed(&identity);
        wrong.push(FieldError::invalid(path, identity, what).printed_as(printed));
    }
    let conditions = device.list("conditions");
    let conditions_path = format!("{path}.conditions");
    if conditions.len() > MOST_CONDITIONS {
        wrong.push(FieldError::too_many(&conditions_path, conditions.len(), MOST_CONDITIONS));
    }
    wrong.extend(wrong_conditions(conditions, &conditions_path, release));
    if device.has("data") {
        wrong.extend(wrong_foreign(device.at("data"), &format!("{path}.data"), Some(LONGEST_DATA)));
    }
    wrong.extend(wrong_network(device.at("networkData"), &format!("{path}.networkData")));
    wrong
}

/// Driver, pool and name of a device.
fn wrong_place(device: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_driver_name(device.text("driver"), &format!("{path}.driver"));
    wrong.extend(wrong_pool_name(device.text("pool"), &format!("{path}.pool")));
    wrong.extend(wrong_label(device.text("device"), &format!("{path}.device")));
    wrong
}

/// The error of the identity of a share of a device. In Kubernetes: `validateUID`.
fn wrong_share(device: &Value, path: &str, release: &Release) -> Option<FieldError> {
    let share = device.at("shareID").as_str()?;
    let is_digit = |sign: u8| sign.is_ascii_digit() || (b'a'..=b'f').contains(&sign);
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let mut signs = share.bytes().enumerate();
    if share.len() == 36 && signs.all(|(at, sign)| if is_dash(at) { sign == b'-' } else { is_digit(sign) }) {
        return None;
    }
    let what = if release.has("DeclaredDeviceRules") {
        "must be a lowercase UUID in 8-4-4-4-12 format".to_owned()
    } else if ![32, 36, 38, 45].contains(&share.len()) {
        format!("error validating uid: invalid UUID length: {}", share.len())
    } else if share.bytes().any(|sign| !sign.is_ascii_hexdigit() && !b"-{}urn:id".contains(&sign)) {
        "error validating uid: invalid UUID format".to_owned()
    } else {
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal \
         characters"
            .to_owned()
    };
    Some(FieldError::invalid(format!("{path}.shareID"), share, what))
}

/// In Kubernetes: `validateAllocationResult`.
fn wrong_allocation(claim: &Object, release: &Release) -> Wrong {
    let requests = claim.list("spec.devices.requests");
    let allocation = claim.at(ALLOCATION);
    let path = format!("{ALLOCATION}.devices");
    let results = allocation.list("devices.results");
    let mut wrong = wrong_list(results, MOST_REQUESTS, &format!("{path}.results"), |result, path| {
        let mut wrong = wrong_request_reference(result.text("request"), &format!("{path}.request"), requests);
        wrong.extend(wrong_place(result, path));
        wrong.extend(wrong_binding_conditions(result, path));
        wrong.extend(wrong_share(result, path, release));
        if release.has("DeclaredDeviceRules") {
            wrong.extend(wrong_tolerations(result.list("tolerations"), path));
        }
        wrong
    });
    let configurations = allocation.list("devices.config");
    let most = 2 * MOST_CONFIGURATIONS;
    wrong.extend(wrong_list(configurations, most, &format!("{path}.config"), |configuration, path| {
        let source = format!("{path}.source");
        let mut wrong = match configuration.text("source") {
            "" => vec![FieldError::required(source, "")],
            "FromClaim" | "FromClass" => Wrong::new(),
            other => vec![FieldError::not_supported(source, other, &["FromClaim", "FromClass"])],
        };
        wrong.extend(wrong_references(configuration, path, requests));
        wrong.extend(wrong_configuration(configuration, path, Standing::New));
        wrong
    }));
    if allocation.has("nodeSelector") {
        wrong.extend(node_selector(allocation.at("nodeSelector"), &format!("{ALLOCATION}.nodeSelector")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(status: Value) -> Object {
        let spec = json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}});
        Object::from_value(json!({"metadata": {"name": "a"}, "spec": spec, "status": status})).unwrap()
    }

    fn allocation() -> Value {
        json!({"devices": {"results": [{"request": "r", "driver": "d.io", "pool": "p", "device": "g"}]}})
    }

    fn said(new: &Object, old: &Object) -> Vec<String> {
        wrong_status(new, old, &Release::named("1.35").unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn an_allocated_claim_lists_its_users_in_its_status() {
        let empty = claim(json!({}));
        let consumer = json!({"resource": "pods", "name": "p", "uid": "1"});
        assert_eq!(said(&claim(json!({"allocation": allocation(), "reservedFor": [consumer]})), &empty), [""; 0]);
        assert_eq!(
            said(&claim(json!({"reservedFor": [consumer, {"uid": "1"}]})), &empty),
            [
                "status.reservedFor[1].resource: Required value",
                "status.reservedFor[1].name: Required value",
                "status.reservedFor[1]: Duplicate value: \"1\"",
                "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
            ]
        );
        let old = claim(json!({"allocation": allocation()}));
        let mut going = claim(json!({"allocation": allocation(), "reservedFor": [consumer]}));
        going.set("metadata.deletionTimestamp", "2024-01-01T00:00:00Z");
        let what = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        assert_eq!(said(&going, &old), [format!("status.reservedFor: Forbidden: {what}")]);
        assert_eq!(said(&going, &going), [""; 0]);
    }

    #[test]
    fn an_allocation_stays_as_it_is_until_it_is_given_back() {
        let old = claim(json!({"allocation": allocation()}));
        assert_eq!(said(&claim(json!({})), &old), [""; 0]);
        let other = json!({"devices": {"results": []}});
        assert!(said(&claim(json!({"allocation": other})), &old)[0].ends_with(": field is immutable"));
        let wrong = json!({"devices": {
            "results": [{"request": "x", "driver": "", "pool": "", "device": "G"}],
            "config": [{"opaque": {"driver": "d", "parameters": {}}}, {"source": "Else", "opaque": {"driver": "d", "parameters": {}}}],
        }});
        let said = said(&claim(json!({"allocation": wrong})), &claim(json!({})));
        let at = "status.allocation.devices";
        assert!(said[0].starts_with(&format!("{at}.results[0].request: Invalid value: \"x\": must be the name of")));
        assert_eq!(
            said[1..3],
            [format!("{at}.results[0].driver: Required value"), format!("{at}.results[0].pool: Required value")]
        );
        assert!(
            said[3].starts_with(&format!("{at}.results[0].device: Invalid value: \"G\": a lowercase RFC 1123 label"))
        );
        assert_eq!(
            said[4..],
            [
                format!("{at}.config[0].source: Required value"),
                format!(
                    "{at}.config[1].source: Unsupported value: \"Else\": supported values: \"FromClaim\", \"FromClass\""
                ),
            ]
        );
    }

    #[test]
    fn device_status_is_kept_only_while_the_device_is_allocated() {
        let device = |name: &str| json!({"driver": "d.io", "pool": "p", "device": name});
        let status = json!({"allocation": allocation(), "devices": [device("g"), device("b"), device("b")]});
        let printed = r#"{"Driver":"d.io","Pool":"p","Device":"b","ShareID":""}"#;
        let old = claim(json!({"allocation": allocation(), "devices": [device("g")]}));
        assert_eq!(
            said(&claim(status), &old),
            [
                format!("status.devices[1]: Invalid value: {printed}: must be an allocated device in the claim"),
                format!("status.devices[2]: Invalid value: {printed}: must be an allocated device in the claim"),
                format!("status.devices[2]: Duplicate value: {printed}"),
            ]
        );
        let mut returned = claim(json!({"devices": [device("g")]}));
        prepare(&mut returned, &old, &Release::named("1.35").unwrap());
        assert_eq!(returned.at("status"), &json!({}));
    }
}
