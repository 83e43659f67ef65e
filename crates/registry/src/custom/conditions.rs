//! The conditions of a definition. In Kubernetes: `apiextensions/helpers.go`.

use coracle_meta::{Object, format_time};
use serde_json::{Value, json};

use super::definition::list;
use crate::Request;

/// Whether a condition has the status True.
pub(super) fn holds(object: &Object, kind: &str) -> bool {
    let conditions = list(object.as_value(), "/status/conditions");
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// Whether the kinds of a definition are served.
pub(super) fn is_established(object: &Object) -> bool {
    holds(object, "Established")
}

/// Sets a condition; its transition time changes only with its status. Returns whether anything changed.
pub(super) fn set_condition(
    object: &mut Object,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    request: &Request,
) -> bool {
    let status = if holds { "True" } else { "False" };
    let mut conditions = list(object.as_value(), "/status/conditions").to_vec();
    let known = conditions.iter_mut().find(|condition| condition["type"] == kind);
    let time = match &known {
        Some(condition) if condition["status"] == status => condition["lastTransitionTime"].clone(),
        _ => Value::from(format_time(request.now)),
    };
    let condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time
    });
    match known {
        Some(known) if *known == condition => return false,
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    object.set("status.conditions", conditions);
    true
}
