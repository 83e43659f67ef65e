use coracle_control::FAULTS_PATH;
use coracle_meta::percent;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::answer::{Answer, Refusal};
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Effect, Tool};

/// Removes faults.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveFaults {
    /// The number or the name of one fault; all faults by default.
    fault: Option<String>,
}

impl Tool for RemoveFaults {
    const NAME: &'static str = "remove_faults";
    const ABOUT: &'static str = "End a fault, or all faults, and return what was removed.";
    const EFFECT: Effect = Effect::Destroys;

    async fn run(self, session: &mut Option<Session>) -> Result<Answer, Refusal> {
        let path = match &self.fault {
            Some(fault) => format!("{FAULTS_PATH}/{}", percent::component(fault)),
            None => FAULTS_PATH.to_owned(),
        };
        Ok(Answer::Json(running(session)?.ask(Ask::of(Method::DELETE, path)).await?))
    }
}
