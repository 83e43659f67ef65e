use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Reads the log of a container.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogsTool {
    /// The name of the pod.
    pod: String,
    /// The namespace; default by default.
    namespace: Option<String>,
    /// The container; needed if the pod has several.
    #[serde(default)]
    container: String,
    /// The log of the run before the last restart.
    #[serde(default)]
    previous: bool,
    /// Only so many lines, from the end.
    tail_lines: Option<u32>,
}

impl Tool for LogsTool {
    const NAME: &'static str = "logs";
    const ABOUT: &'static str =
        "Read what a container has printed. Only containers with a known program print something.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let resources = Resources::of(session).await?;
        let pod = resources.named("pods")?.path(self.namespace.as_deref(), Some(&self.pod));
        let lines = self.tail_lines.map_or(String::new(), |lines| lines.to_string());
        let ask = Ask::of(Method::GET, format!("{pod}/log")).accepting("*/*");
        let ask = ask.with("container", &self.container).with("tailLines", &lines);
        Ok(ToolAnswer::Text(session.text(ask.with("previous", if self.previous { "true" } else { "" })).await?))
    }
}
