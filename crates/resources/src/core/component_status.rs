use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `componentstatuses`, computed and deprecated. In Kubernetes: `pkg/registry/core/componentstatus`.
pub(crate) const COMPONENT_STATUS: Rules =
    Rules { columns: columns::COMPONENT_STATUS, cells, ..Rules::of("", "v1", "componentstatuses") };

fn cells(object: &Object, _now: Timestamp) -> Vec<Value> {
    let healthy = object.list("conditions").iter().find(|condition| condition.text("type") == "Healthy");
    let (status, message, error) = match healthy {
        Some(condition) if condition.text("status") == "True" => {
            ("Healthy", condition.text("message"), condition.text("error"))
        }
        Some(condition) => ("Unhealthy", condition.text("message"), condition.text("error")),
        None => ("Unknown", "", ""),
    };
    vec![object.name().into(), status.into(), message.into(), error.into()]
}
