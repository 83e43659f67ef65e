use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::Reference;

/// Creates objects, or merges them into those that exist, by server-side apply.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// The object: the fields that the manager has an opinion on.
    #[serde(default)]
    pub resource: Option<Spanned<Value>>,
    /// A YAML file with one or more objects, relative to the scenario.
    #[serde(default)]
    pub file: Option<Spanned<String>>,
    /// Who owns the fields afterwards; absent for the step's user, or else `scenario`.
    #[serde(default)]
    pub field_manager: Option<String>,
    /// Whether fields that others own are taken over. In kubectl: `--force-conflicts`.
    #[serde(default = "super::yes")]
    pub force: bool,
    /// Whether it is to be refused because others own a field; with `force: false` only.
    #[serde(default)]
    pub refused: bool,
}

/// Reads an object, as it is now, to be known by a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// What to read.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The name under which the object is known to later expressions, and to `update`.
    #[serde(rename = "as")]
    pub binding: Spanned<String>,
}

/// Writes an object whole, at the version at which it was read (PUT).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The name under which an earlier step knows the object; its version then is the precondition of the write.
    pub from: Spanned<String>,
    /// What to change in it first (as a JSON merge patch); absent to write it as it was read.
    #[serde(default)]
    pub resource: Option<Spanned<Map<String, Value>>>,
    /// `status` to write that subresource.
    #[serde(default)]
    pub subresource: Option<String>,
    /// Whether it is to be refused because somebody else has written meanwhile.
    #[serde(default)]
    pub refused: bool,
}
