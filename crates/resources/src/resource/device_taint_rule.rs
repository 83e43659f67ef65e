use coracle_meta::fields::{Fields, edit_at};
use coracle_meta::{FieldError, Object, format_time};
use coracle_registry::{Column, KindSpec, Request, TableColumn};
use coracle_release::Release;

use super::device_taint::{set_time, wrong_taint};
use super::naming::{wrong_label, wrong_pool_name};
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::cells::since;
use crate::conditions::wrong_conditions;
use crate::field_checks::Wrong;
use crate::storage::csi_driver::wrong_driver_name;

const TAINT: &str = "spec.taint";
const CONDITIONS: &str = "status.conditions";
const MOST_CONDITIONS: usize = 8;

/// `devicetaintrules.resource.k8s.io`. In Kubernetes: `pkg/registry/resource/devicetaintrule`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_times: |rule, now| edit_at(rule, TAINT, |taint| set_time(taint, now)),
        prepare_update: |new, old, request, _| renew_time(new, old, request),
        reset_by_status: SPEC_AND_METADATA,
        validate_create: |rule, _| wrong(rule, None),
        validate_change: |new, old, _| wrong(new, Some(old)),
        validate_status: |new, _, release| wrong_status(new, release),
        columns: columns(),
        ..built_in(release, "resource.k8s.io", "v1", "devicetaintrules")
    }
}

fn columns() -> Vec<TableColumn> {
    let text = |name, description, path: &'static str| {
        TableColumn::text(name, description, move |object| object.text(path).into())
    };
    vec![
        TableColumn::name(),
        text("Key", "The taint key to be applied to a device. Must be a label name.", "spec.taint.key"),
        text("Value", "The taint value corresponding to the taint key. Must be a label value.", "spec.taint.value"),
        text(
            "Effect",
            "The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.\n\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is not valid here. More effects may get added in the future. Consumers must treat unknown effects like None.",
            "spec.taint.effect",
        ),
        TableColumn::new(
            Column::new(
                "TimeAdded",
                "string",
                "TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was modified. Added automatically during create or update if not set.\n\nIn addition, in a DeviceTaintRule a value provided during an update gets replaced with the current time if the provided value is the same as the old one and the new effect is different. Changing the key and/or value while keeping the effect unchanged is possible and does not update the time stamp because the eviction which uses it is either already started (NoExecute) or not started yet (NoEffect, NoSchedule).",
            ),
            |object, now| since(object.at("spec.taint.timeAdded"), now).into(),
        ),
        TableColumn::age(),
    ]
}

/// The time of a taint is that since which its effect is there: a change of the effect alone renews it.
fn renew_time(new: &mut Object, old: &Object, request: &Request) {
    let is_kept = new.text("spec.taint.timeAdded") == old.text("spec.taint.timeAdded");
    if is_kept && new.text("spec.taint.effect") != old.text("spec.taint.effect") {
        let now = format_time(request.now);
        edit_at(new, TAINT, |taint| {
            taint.insert("timeAdded".to_owned(), now.into());
        });
    }
}

/// In Kubernetes: `validateDeviceTaintRuleSpec`.
fn wrong(rule: &Object, old: Option<&Object>) -> Wrong {
    let selector = rule.at("spec.deviceSelector");
    let mut wrong = Wrong::new();
    if let Some(driver) = selector.at("driver").as_str() {
        wrong.extend(wrong_driver_name(driver, "spec.deviceSelector.driver"));
    }
    if let Some(pool) = selector.at("pool").as_str() {
        wrong.extend(wrong_pool_name(pool, "spec.deviceSelector.pool"));
    }
    if let Some(device) = selector.at("device").as_str() {
        wrong.extend(wrong_label(device, "spec.deviceSelector.device"));
    }
    wrong.extend(wrong_taint(rule.at(TAINT), old.map(|old| old.at(TAINT)), TAINT));
    wrong
}

/// In Kubernetes: `ValidateDeviceTaintRuleStatusUpdate`.
fn wrong_status(rule: &Object, release: &Release) -> Wrong {
    let conditions = rule.list(CONDITIONS);
    let mut wrong = wrong_conditions(conditions, CONDITIONS, release);
    if conditions.len() > MOST_CONDITIONS {
        wrong.push(FieldError::too_many(CONDITIONS, conditions.len(), MOST_CONDITIONS));
    }
    wrong
}
