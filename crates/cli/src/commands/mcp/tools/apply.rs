use coracle_import::read_documents;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, CLIENT, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Applies manifests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyTool {
    /// One or more manifests, as YAML documents or JSON.
    manifests: String,
    /// Take over fields that another manager has set with another value. Without it, such a field is a conflict.
    #[serde(default)]
    force: bool,
    /// Only answer what would happen.
    #[serde(default)]
    dry_run: bool,
}

impl Tool for ApplyTool {
    const NAME: &'static str = "apply";
    const ABOUT: &'static str = "Create or change objects from manifests, by server-side apply as the field manager \
        coracle-mcp. To remove a field that another manager has set, use patch.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let documents = read_documents("manifests", &self.manifests).map_err(Refusal::new)?;
        if documents.is_empty() {
            return Err(Refusal::new("manifests: there is no object"));
        }
        let mut applied: Vec<Value> = Vec::new();
        for document in &documents {
            // A manifest may be a CustomResourceDefinition, whose kind the next ones have.
            let result = match Resources::of(session).await {
                Ok(resources) => self.apply(session, &resources, &document.value).await,
                Err(refusal) => Err(refusal),
            };
            let before = || match applied.len() {
                0 => String::new(),
                count => format!(" ({count} of {} objects were applied before)", documents.len()),
            };
            applied.push(result.map_err(|refusal| refusal.about(format!("{}{}", document.place, before())))?);
        }
        Ok(ToolAnswer::Json(json!({"applied": applied})))
    }
}

impl ApplyTool {
    async fn apply(&self, session: &Session, resources: &Resources, object: &Value) -> Result<Value, Refusal> {
        let path = resources.of_object(object)?.path_of(object)?;
        let ask =
            Ask::of(Method::PATCH, path).body("application/apply-patch+yaml", object).with("fieldManager", CLIENT);
        let ask = ask.with("force", if self.force { "true" } else { "" });
        let ask = ask.with("dryRun", if self.dry_run { "All" } else { "" });
        let (code, answer) = session.ask_with_code(ask).await?;
        let done = if code == StatusCode::CREATED { "created" } else { "configured" };
        let metadata = &answer["metadata"];
        let mut applied = json!({"kind": answer["kind"], "name": metadata["name"], "result": done});
        if metadata["namespace"].is_string() {
            applied["namespace"] = metadata["namespace"].clone();
        }
        Ok(applied)
    }
}
