use std::collections::BTreeMap;

use serde_json::Value;

use crate::misfit::Misfit;

/// What the reader of a scenario has to know of the cluster: which kinds there are, and which expressions are good.
pub trait Vocabulary {
    /// The plural of a kind that the cluster serves; `None` if it serves no such kind.
    fn plural(&self, api_version: &str, kind: &str) -> Option<String>;
    /// All kinds, for a suggestion.
    fn kinds(&self) -> Vec<String>;
    /// The plurals of all resources.
    fn plurals(&self) -> Vec<String>;
    /// The parts of components that send requests, as the event log names them.
    fn senders(&self) -> Vec<String>;
    /// The `apiVersion` in which objects of a kind are stored, which is the one in which they are looked at; `None` where nothing is
    /// known of the kind.
    fn stored_version(&self, api_version: &str, kind: &str) -> Option<String>;
    /// The first part of an object, or of a part of one, that no object of its kind has.
    fn misfit(&self, api_version: &str, kind: &str, object: &Value) -> Option<Misfit>;
    /// Why an expression is not good, given names beside the plurals, with the `apiVersion` and the kind of what each stands for
    /// where that is known.
    fn expression_problem(&self, text: &str, names: &BTreeMap<String, Option<(String, String)>>) -> Option<String>;
}
