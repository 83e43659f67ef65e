use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, CLIENT, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// How a patch is applied.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PatchType {
    /// A JSON merge patch: null removes a field, and a list replaces a list.
    Merge,
    /// A JSON patch: a list of operations.
    Json,
    /// A strategic merge patch: lists of containers, ports and the like are merged by their keys. Not for custom
    /// resources.
    #[default]
    Strategic,
}

/// Changes an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchTool {
    /// The resource as kubectl takes it: deployments, deploy, deployments.apps.
    resource: String,
    /// The name of the object.
    name: String,
    /// The namespace; default by default.
    namespace: Option<String>,
    /// The patch: an object, or a list of operations for the type json.
    patch: Value,
    /// How it is applied; strategic by default, as in kubectl.
    #[serde(rename = "type", default)]
    patch_type: PatchType,
    /// A part of the object: scale, status, resize.
    #[serde(default)]
    subresource: String,
}

impl Tool for PatchTool {
    const NAME: &'static str = "patch";
    const ABOUT: &'static str = "Change an object as kubectl patch does. Unlike apply, it can remove fields and finalizers of \
        other managers. Returns the object.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let resources = Resources::of(session).await?;
        let mut path = resources.named(&self.resource)?.path(self.namespace.as_deref(), Some(&self.name));
        if !self.subresource.is_empty() {
            path = format!("{path}/{}", coracle_meta::percent::component(&self.subresource));
        }
        let media_type = match self.patch_type {
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Json => "application/json-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
        };
        let ask = Ask::of(Method::PATCH, path).body(media_type, &self.patch).with("fieldManager", CLIENT);
        let mut object = session.ask(ask).await?;
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        Ok(ToolAnswer::Json(object))
    }
}
