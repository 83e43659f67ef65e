use coracle_journal::Events;
use serde_json::json;

use crate::Summary;

/// The summary as JSON: `{"run": header, "summary": …}`.
pub(crate) fn render(events: &Events) -> String {
    format!("{:#}\n", json!({"run": events.header, "summary": Summary::of(events)}))
}
