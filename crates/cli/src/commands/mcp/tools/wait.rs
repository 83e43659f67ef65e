use std::time::Duration;

use coracle_meta::{Status, format_duration, parse_duration};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::commands::mcp::session::{Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

const WITHIN: Duration = Duration::from_secs(600);

/// Waits for an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitTool {
    /// A part of an object, with apiVersion and kind: only the fields that it has are compared. Without metadata.name it
    /// may be any object of the kind.
    object: Map<String, Value>,
    /// Wait until there is no such object.
    #[serde(default)]
    absent: bool,
    /// How long to wait at most, in the time of the cluster, such as 90s or 1h; 10m by default.
    within: Option<String>,
}

impl Tool for WaitTool {
    const NAME: &'static str = "wait";
    const ABOUT: &'static str = "Wait until an object holds that is given in part, such as a Deployment with status \
        {readyReplicas: 3}. A stepped clock advances as far as needed. An error says what was found instead.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let cluster = running(session)?.controlled().clone();
        let within = self.within.as_deref().map_or(Some(WITHIN), parse_duration);
        let within = within.ok_or_else(|| Refusal::new("within: expected a duration such as 90s, 10m or 1h"))?;
        if let Some(field) = ["apiVersion", "kind"].into_iter().find(|field| !self.object.contains_key(*field)) {
            return Err(Refusal::new(format!("object needs `{field}`")));
        }
        let before = cluster.now().await?;
        let met = cluster.until(Value::Object(self.object), self.absent, within).await?;
        let now = cluster.now().await?;
        let advanced = Duration::try_from(now.duration_since(before)).unwrap_or_default();
        match met {
            Ok(()) => Ok(ToolAnswer::Json(json!({"now": now.to_string(), "advanced": format_duration(advanced)}))),
            Err(answer) => {
                let (expected, found) = coracle_scenario::expected_and_found(answer);
                let within = format_duration(within);
                let why = format!("not within {within}: expected {expected}; found {found}");
                Err(Status::failure(408, "Timeout", why).into())
            }
        }
    }
}
