use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Shows a chain of causes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhyTool {
    /// An object such as pod/default/web-1 or deployment/web, the number of an entry such as #412, or a revision such as
    /// rev=31.
    about: String,
}

impl Tool for WhyTool {
    const NAME: &'static str = "why";
    const ABOUT: &'static str = "Show the chain of causes of the newest change of an object: which write, which event and which \
        decision of a controller led to it. It covers what happened since the last reset.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let ask = Ask::of(Method::GET, "/coracle/v1/why").accepting("text/plain").with("about", &self.about);
        Ok(ToolAnswer::Text(running(session)?.text(ask).await?))
    }
}
