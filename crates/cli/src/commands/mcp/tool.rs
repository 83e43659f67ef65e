use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Described, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::Session;
use super::tool_answer::{Refusal, ToolAnswer};

/// What a tool does to the cluster, as a hint for clients that ask their user before they call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// It changes nothing.
    Reads,
    /// It adds or changes.
    Writes,
    /// It removes or replaces what was there.
    Destroys,
}

/// A tool: its fields are the arguments.
pub(super) trait Tool: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name.
    const NAME: &'static str;
    /// What it does, for agents that choose a tool.
    const ABOUT: &'static str;
    /// What it does to the cluster.
    const EFFECT: ToolEffect;

    /// Does it. `session` is the cluster of this client, if one runs.
    fn run(self, session: &mut Option<Session>) -> impl Future<Output = Result<ToolAnswer, Refusal>> + Send;
}

/// A call of a tool.
type Called<'a> = BoxFuture<'a, Result<ToolAnswer, Refusal>>;

/// A tool in the list.
pub(super) struct ToolEntry {
    pub(super) name: &'static str,
    describe: fn() -> Described,
    call: for<'a> fn(JsonObject, &'a mut Option<Session>) -> Called<'a>,
}

impl ToolEntry {
    /// The entry of a tool.
    pub(super) const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, describe: describe::<T>, call: call::<T> }
    }

    /// Its name, its description and the schema of its arguments.
    pub(super) fn describe(&self) -> Described {
        (self.describe)()
    }

    /// Calls it.
    pub(super) async fn call(&self, arguments: JsonObject, session: &mut Option<Session>) -> CallToolResult {
        match (self.call)(arguments, session).await {
            Ok(ToolAnswer::Text(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(ToolAnswer::Json(value)) => CallToolResult::structured(value),
            Err(Refusal { message, status }) => {
                let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
                result.structured_content = status;
                result
            }
        }
    }
}

fn describe<T: Tool>() -> Described {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    // The description of the arguments is that of the tool, which the client has already.
    for name in ["title", "description"] {
        schema.remove(name);
    }
    let hints = ToolAnnotations::new()
        .read_only(T::EFFECT == ToolEffect::Reads)
        .destructive(T::EFFECT == ToolEffect::Destroys)
        .open_world(false);
    Described::new(T::NAME, T::ABOUT, Arc::new(schema)).with_annotations(hints)
}

fn call<T: Tool>(arguments: JsonObject, session: &mut Option<Session>) -> Called<'_> {
    match read::<T>(arguments) {
        Ok(tool) => tool.run(session).boxed(),
        Err(why) => {
            let refusal = Refusal::new(format!("the arguments of {}: {why}", T::NAME));
            std::future::ready(Err(refusal)).boxed()
        }
    }
}

/// The arguments of a tool. One that it does not know is an error, as is one of the wrong type.
fn read<T: Tool>(arguments: JsonObject) -> Result<T, String> {
    let known = describe::<T>().input_schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(unknown) = arguments.keys().find(|name| !known.contains_key(*name)) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Err(format!("unknown argument `{unknown}`; there are: {}", names.join(", ")));
    }
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}
