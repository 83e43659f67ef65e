use coracle_import::read_documents;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// Creates objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTool {
    /// One or more manifests, as YAML documents or JSON. They may have metadata.generateName.
    manifests: String,
}

impl Tool for CreateTool {
    const NAME: &'static str = "create";
    const ABOUT: &'static str = "Create objects, and return them as they were stored. Also for what is only asked and never \
        stored, such as a SubjectAccessReview, and for an Eviction, which asks the PodDisruptionBudgets.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let documents = read_documents("manifests", &self.manifests).map_err(Refusal::new)?;
        let mut created: Vec<Value> = Vec::new();
        for document in &documents {
            let resources = Resources::of(session).await?;
            let result = match path_of(&resources, &document.value) {
                Ok(path) => session.ask(Ask::of(Method::POST, path).json(&document.value)).await,
                Err(refusal) => Err(refusal),
            };
            let mut object = result.map_err(|refusal| refusal.about(&document.place))?;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            created.push(object);
        }
        Ok(ToolAnswer::Json(json!({"created": created})))
    }
}

/// The path of the collection of an object. An Eviction is a part of its pod.
fn path_of(resources: &Resources, object: &Value) -> Result<String, Refusal> {
    let namespace = object["metadata"]["namespace"].as_str();
    if object["kind"] == "Eviction" && object["apiVersion"] == "policy/v1" {
        let pods = resources.named("pods")?;
        return Ok(format!("{}/eviction", pods.path_of(object)?));
    }
    Ok(resources.of_object(object)?.path(namespace, None))
}
