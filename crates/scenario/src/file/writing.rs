use coracle_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Reference;
use crate::schema_words::{MergePatch, WholeObject};

/// Creates objects, or merges them into existing ones, by server-side apply.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["resource"]}, {"required": ["file"]}]))]
pub struct Apply {
    /// The object: the fields that the manager sets.
    #[serde(default)]
    #[schemars(with = "WholeObject")]
    pub resource: Option<Spanned<Value>>,
    /// A YAML file with one or more objects, relative to the scenario.
    #[serde(default)]
    #[schemars(with = "String")]
    pub file: Option<Spanned<String>>,
    /// The owner of the fields; absent for the step's user, or else `scenario`.
    #[serde(default)]
    pub field_manager: Option<String>,
    /// Whether fields of other managers are taken over. In kubectl: `--force-conflicts`.
    #[serde(default = "super::yes")]
    pub force: bool,
    /// Whether it must be refused because of a conflict with another manager; only with `force: false`.
    #[serde(default)]
    pub refused: bool,
}

/// Reads the current object and gives it a name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// What to read.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The name under which the object is known to later expressions, and to `update`.
    #[serde(rename = "as")]
    #[schemars(with = "String")]
    pub binding: Spanned<String>,
}

/// Replaces an object at the resource version at which it was read (PUT).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The name that an earlier step gave to the object; its version then is the precondition of the write.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// A JSON merge patch to apply to it first; absent to write it unchanged.
    #[serde(default)]
    #[schemars(with = "MergePatch")]
    pub resource: Option<Spanned<Map<String, Value>>>,
    /// `status` to write the status subresource.
    #[serde(default)]
    pub subresource: Option<String>,
    /// Whether it must be refused because another client has written meanwhile.
    #[serde(default)]
    pub refused: bool,
}
