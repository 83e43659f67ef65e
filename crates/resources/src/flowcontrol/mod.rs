//! `flowcontrol.apiserver.k8s.io/v1`. Requests are sorted by the objects, and not queued.

pub(crate) mod dangling;
mod every_cluster_has;
mod flow_table;
mod validation;

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, set_or};
use crate::columns;
use crate::rules::{BY_SPEC, Rules, SPEC_AND_METADATA};
use coracle_meta::fields::Fields;

pub(crate) use every_cluster_has::every_cluster_has;
pub(crate) use flow_table::{ByFlowTable, FlowTable, flow_table};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// `flowschemas`.
pub(crate) const FLOW_SCHEMA: Rules = Rules {
    generation: BY_SPEC,
    kept_by_status: SPEC_AND_METADATA,
    validate: validation::wrong_schema,
    columns: columns::FLOW_SCHEMA,
    cells: schema_cells,
    ..Rules::of(GROUP, "v1", "flowschemas")
};

/// `prioritylevelconfigurations`.
pub(crate) const PRIORITY_LEVEL_CONFIGURATION: Rules = Rules {
    generation: BY_SPEC,
    kept_by_status: SPEC_AND_METADATA,
    validate: validation::wrong_level,
    columns: columns::PRIORITY_LEVEL_CONFIGURATION,
    cells: level_cells,
    ..Rules::of(GROUP, "v1", "prioritylevelconfigurations")
};

fn schema_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let conditions = object.list("status.conditions");
    let dangling = conditions.iter().find(|condition| condition.text("type") == "Dangling");
    vec![
        object.name().into(),
        object.text(&["spec", "priorityLevelConfiguration", "name"]).into(),
        object.int("spec.matchingPrecedence").into(),
        set_or(object.at("spec.distinguisherMethod.type"), "<none>"),
        age(object, now),
        dangling.map_or("?", |condition| condition.text("status")).into(),
    ]
}

fn level_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let limited = object.at("spec.limited");
    let or_none = |value: &Value| if value.is_null() { "<none>".into() } else { value.clone() };
    let queuing = limited.at("limitResponse.queuing");
    vec![
        object.name().into(),
        object.text(&["spec", "type"]).into(),
        or_none(limited.at("nominalConcurrencyShares")),
        or_none(queuing.at("queues")),
        or_none(queuing.at("handSize")),
        or_none(queuing.at("queueLengthLimit")),
        age(object, now),
    ]
}
