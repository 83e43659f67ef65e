use std::collections::BTreeMap;

use serde_json::Value;

use crate::misfit::Misfit;

/// What the parser of scenarios has to know about the cluster: its kinds, and whether expressions are valid.
pub trait Vocabulary {
    /// The plural of a kind; `None` if the cluster does not serve the kind.
    fn plural(&self, api_version: &str, kind: &str) -> Option<String>;
    /// All kinds, for suggestions.
    fn kinds(&self) -> Vec<String>;
    /// The plurals of all resources.
    fn plurals(&self) -> Vec<String>;
    /// The parts of components that send requests, as the event log names them.
    fn senders(&self) -> Vec<String>;
    /// The `apiVersion` in which objects of a kind are stored, which checks have to use; `None` if the kind is unknown.
    fn stored_version(&self, api_version: &str, kind: &str) -> Option<String>;
    /// The first part of an object, or of a partial object, that its kind does not have.
    fn misfit(&self, api_version: &str, kind: &str, object: &Value) -> Option<Misfit>;
    /// Why an expression is invalid. `names` are the names that it can use in addition to the plurals, with their
    /// `apiVersion` and kind if known.
    fn expression_problem(&self, text: &str, names: &BTreeMap<String, Option<(String, String)>>) -> Option<String>;
}
