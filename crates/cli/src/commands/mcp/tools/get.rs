use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::mcp::resources::Resources;
use crate::commands::mcp::session::{Ask, Session, running};
use crate::commands::mcp::table::{TABLE, printed};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};

/// How objects are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Output {
    /// The columns of kubectl get.
    #[default]
    Table,
    /// YAML, without metadata.managedFields.
    Yaml,
    /// JSON, without metadata.managedFields.
    Json,
    /// Only the names.
    Name,
}

/// Reads objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetTool {
    /// The resource as kubectl takes it: pods, pod, po, deployments.apps, events.
    resource: String,
    /// The name of one object; all objects by default.
    name: Option<String>,
    /// The namespace; default by default.
    namespace: Option<String>,
    /// All namespaces.
    #[serde(default)]
    all_namespaces: bool,
    /// A label selector, such as app=web,tier!=db.
    #[serde(default)]
    selector: String,
    /// A field selector, such as spec.nodeName=node-1.
    #[serde(default)]
    field_selector: String,
    /// The format.
    #[serde(default)]
    output: Output,
}

impl Tool for GetTool {
    const NAME: &'static str = "get";
    const ABOUT: &'static str = "Read objects as kubectl get does: one by its name, or a list. Events of an object: resource \
        events, with the field selector involvedObject.name=NAME.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        let session = running(session)?;
        let resources = Resources::of(session).await?;
        let resource = resources.named(&self.resource)?;
        let is_wide = self.all_namespaces && resource.is_namespaced;
        if is_wide && self.name.is_some() {
            return Err(Refusal::new("an object with a name is in one namespace: leave out all_namespaces"));
        }
        let namespace = if is_wide { Some("") } else { self.namespace.as_deref() };
        let ask = Ask::of(Method::GET, resource.path(namespace, self.name.as_deref()));
        let ask = ask.with("labelSelector", &self.selector).with("fieldSelector", &self.field_selector);
        if self.output == Output::Table {
            let table = session.ask(ask.accepting(TABLE)).await?;
            let is_empty = table["rows"].as_array().is_none_or(Vec::is_empty);
            let nothing = || "No resources found\n".to_owned();
            return Ok(ToolAnswer::Text(if is_empty { nothing() } else { printed(&table, is_wide) }));
        }
        let mut found = session.ask(ask).await?;
        let objects = match found["items"].as_array_mut() {
            Some(items) => items.iter_mut().collect(),
            None => vec![&mut found],
        };
        let mut names = String::new();
        for object in objects {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            names.push_str(&format!("{}/{name}\n", resource.plural));
        }
        Ok(match self.output {
            Output::Json => ToolAnswer::Json(found),
            Output::Name => ToolAnswer::Text(names),
            Output::Table | Output::Yaml => ToolAnswer::Text(yaml(&found)),
        })
    }
}

fn yaml(value: &Value) -> String {
    coracle_yaml::to_yaml(value)
}
