//! Node affinity in a configuration.

use coracle_api::NodeTerm;
use coracle_api::core_v1 as core;
use coracle_meta::names::qualified_name;
use coracle_yaml::{At, KnownFields, StrictReader};

use crate::arguments::AddedAffinity;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// In Kubernetes: `ValidateNodeAffinityArgs`.
pub(super) fn read(reader: &mut StrictReader, at: Option<&At<'_>>) -> AddedAffinity {
    let Some(at) = at else { return AddedAffinity::default() };
    let fields = reader.fields(at, &[REQUIRED, PREFERRED]);
    let mut required = None;
    if let Some(at) = fields.get(REQUIRED) {
        let fields = reader.fields(at, &["nodeSelectorTerms"]);
        let terms = reader.list(fields.get("nodeSelectorTerms"));
        required = Some(terms.iter().map(|at| term(reader, at)).collect());
    }
    let mut preferred = Vec::new();
    for at in reader.list(fields.get(PREFERRED)) {
        let fields = reader.fields(&at, &["weight", "preference"]);
        let why = "must be an integer of 32 bits";
        let weight = reader.within(fields.get("weight"), i64::from(i32::MIN), i64::from(i32::MAX), why);
        if let Some(at) = fields.get("preference") {
            preferred.push((weight.unwrap_or(0), term(reader, at)));
        }
    }
    AddedAffinity { required, preferred }
}

fn term(reader: &mut StrictReader, at: &At<'_>) -> NodeTerm {
    let fields = reader.fields(at, &["matchExpressions", "matchFields"]);
    NodeTerm::from(&core::NodeSelectorTerm {
        match_expressions: requirements(reader, &fields, "matchExpressions"),
        match_fields: requirements(reader, &fields, "matchFields"),
        ..core::NodeSelectorTerm::default()
    })
}

fn requirements(reader: &mut StrictReader, fields: &KnownFields<'_>, name: &str) -> Vec<core::NodeSelectorRequirement> {
    let all = reader.list(fields.get(name));
    all.iter().map(|at| requirement(reader, at, name == "matchFields")).collect()
}

fn requirement(reader: &mut StrictReader, at: &At<'_>, is_field: bool) -> core::NodeSelectorRequirement {
    let fields = reader.fields(at, &["key", "operator", "values"]);
    let key = reader.text(fields.get("key")).unwrap_or_default();
    let operator = reader.text(fields.get("operator")).unwrap_or_default();
    let values = reader.list(fields.get("values"));
    let values: Vec<String> = values.iter().filter_map(|value| reader.text(Some(value))).collect();
    let is_number = || values.iter().all(|value| value.parse::<i64>().is_ok());
    let wrong = match (operator.as_str(), values.len()) {
        ("In" | "NotIn", 1) => None,
        ("In" | "NotIn", _) if is_field => Some("values: must have one element"),
        ("In" | "NotIn", 0) => Some("values: for 'in', 'notin' operators, values set can't be empty"),
        ("In" | "NotIn", _) => None,
        (_, _) if is_field => Some("operator: not a valid selector operator"),
        ("Exists" | "DoesNotExist", 0) => None,
        ("Exists" | "DoesNotExist", _) => Some("values: values set must be empty for exists and does not exist"),
        ("Gt" | "Lt", 1) if is_number() => None,
        ("Gt" | "Lt", 1) => Some("values: for 'Gt', 'Lt' operators, the value must be an integer"),
        ("Gt" | "Lt", _) => Some("values: for 'Gt', 'Lt' operators, exactly one value is required"),
        _ => Some("operator: not a valid selector operator"),
    };
    if let Some(wrong) = wrong {
        reader.refuse(at, wrong);
    }
    if is_field && key != "metadata.name" {
        reader.refuse(at, "key: not a valid field selector key");
    }
    if !is_field {
        qualified_name(&key).into_iter().for_each(|why| reader.refuse(at, format!("key: {why}")));
    }
    core::NodeSelectorRequirement { key, operator, values, ..core::NodeSelectorRequirement::default() }
}
