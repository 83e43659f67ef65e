//! `flowcontrol.apiserver.k8s.io/v1`. Requests are classified by the objects, and not queued.

mod dangling;
mod every_cluster_has;
mod flow_rule;
pub(crate) mod flow_schema;
mod flow_table;
pub(crate) mod priority_level_configuration;

pub(crate) use every_cluster_has::every_cluster_has;
pub(crate) use flow_table::{ByFlowTable, FlowTable, flow_table, write_conditions};

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersionResource, Object};

use crate::field_checks::{Wrong, required};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

fn flow_schemas() -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", "flowschemas")
}

/// In Kubernetes: `ValidateFlowSchemaStatus` and `ValidatePriorityLevelConfigurationStatus`.
fn wrong_status(object: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, condition) in object.list("status.conditions").iter().enumerate() {
        let path = format!("status.conditions[{at}]");
        let kind = condition.text("type");
        if !seen.insert(kind) {
            wrong.push(FieldError::duplicate(format!("{path}.type"), kind));
        }
        wrong.extend(required(condition, "type", &path));
    }
    wrong
}
