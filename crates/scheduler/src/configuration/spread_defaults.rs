use std::collections::BTreeSet;

use coracle_meta::LabelSelector;
use coracle_meta::names::qualified_name;
use coracle_yaml::{At, KnownFields, StrictReader};

use crate::arguments::SpreadDefaults;
use crate::pod_info::SpreadConstraint;

const INT32: i64 = i32::MAX as i64;

/// The spread constraints of pods without any. In Kubernetes: `ValidatePodTopologySpreadArgs`.
pub(super) fn read(reader: &mut StrictReader, at: &At<'_>, fields: &KnownFields<'_>) -> SpreadDefaults {
    let mut constraints = Vec::new();
    let mut seen = BTreeSet::new();
    for at in reader.list(fields.get("defaultConstraints")) {
        let constraint = constraint(reader, &at);
        if !seen.insert((constraint.topology_key.clone(), constraint.required)) {
            let action = if constraint.required { "DoNotSchedule" } else { "ScheduleAnyway" };
            reader.refuse(&at, format!("Duplicate value: \"{{{}, {action}}}\"", constraint.topology_key));
        }
        constraints.push(constraint);
    }
    let kind_at = fields.get("defaultingType").unwrap_or(at);
    match reader.text(fields.get("defaultingType")).unwrap_or_default().as_str() {
        "" | "System" if constraints.is_empty() => SpreadDefaults::System,
        "" | "System" => {
            let why = "defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty";
            reader.refuse(kind_at, why);
            SpreadDefaults::System
        }
        "List" => SpreadDefaults::List(constraints),
        other => {
            reader.refuse(kind_at, format!("Unsupported value: {other:?}: supported values: \"System\", \"List\""));
            SpreadDefaults::System
        }
    }
}

fn constraint(reader: &mut StrictReader, at: &At<'_>) -> SpreadConstraint {
    let known = [
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
    ];
    let fields = reader.fields(at, &known);
    let max_skew = reader.within(fields.get("maxSkew"), 1, INT32, "not in valid range (0, inf)");
    if !fields.contains_key("maxSkew") {
        reader.refuse(at, "maxSkew: Invalid value: 0: not in valid range (0, inf)");
    }
    let topology_key = reader.text(fields.get("topologyKey")).unwrap_or_default();
    if topology_key.is_empty() {
        reader.refuse(at, "topologyKey: Required value: can not be empty");
    } else {
        qualified_name(&topology_key).into_iter().for_each(|why| reader.refuse(at, format!("topologyKey: {why}")));
    }
    let action = reader.text(fields.get("whenUnsatisfiable")).unwrap_or_default();
    match action.as_str() {
        "DoNotSchedule" | "ScheduleAnyway" => {}
        "" => reader.refuse(at, "whenUnsatisfiable: Required value: can not be empty"),
        other => {
            let why = "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"";
            reader.refuse(at, format!("whenUnsatisfiable: Unsupported value: {other:?}: {why}"));
        }
    }
    if let Some(at) = fields.get("labelSelector") {
        reader.refuse(at, "Forbidden: constraint must not define a selector, as they deduced for each pod");
    }
    if let Some(at) = fields.get("matchLabelKeys") {
        reader.refuse(at, "the selector is that of the pod's siblings, so this would say nothing");
    }
    let mut policy = |field: &str| {
        let policy = reader.text(fields.get(field));
        if let (Some(policy), Some(at)) = (&policy, fields.get(field))
            && !matches!(policy.as_str(), "Honor" | "Ignore")
        {
            reader.invalid(at, "supported values: \"Honor\", \"Ignore\"");
        }
        policy
    };
    SpreadConstraint {
        max_skew: max_skew.unwrap_or(1),
        topology_key,
        required: action == "DoNotSchedule",
        selector: LabelSelector::nothing(),
        honors_affinity: policy("nodeAffinityPolicy").as_deref() != Some("Ignore"),
        honors_taints: policy("nodeTaintsPolicy").as_deref() == Some("Honor"),
        min_domains: reader.within(fields.get("minDomains"), 1, INT32, "must be greater than 0").unwrap_or(1),
    }
}
