//! The types as Kubernetes publishes them: `api/openapi-spec/v3` of the module.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::failure::Failure;

/// Definitions by their full names.
pub(crate) type Definitions = BTreeMap<String, Map<String, Value>>;

const KINDS: &str = "x-kubernetes-group-version-kind";

/// Reads all documents of the module `k8s.io/kubernetes`. The kinds of a type are those of the one document of OpenAPI 2,
/// because a document of OpenAPI 3 can list some of them only.
pub(crate) fn read(kubernetes: &Path) -> Result<Definitions, Failure> {
    let mut all = Definitions::new();
    for entry in std::fs::read_dir(kubernetes.join("api/openapi-spec/v3"))? {
        let path = entry?.path();
        let document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
        for (name, definition) in schemas {
            let definition = definition.as_object().ok_or("a definition that is no object")?;
            all.insert(name, definition.clone());
        }
    }
    let whole: Value = serde_json::from_slice(&std::fs::read(kubernetes.join("api/openapi-spec/swagger.json"))?)?;
    for (name, definition) in &mut all {
        if let Some(kinds) = whole["definitions"][name].get(KINDS) {
            definition.insert(KINDS.to_owned(), kinds.clone());
        }
    }
    if all.is_empty() { Err(format!("{} publishes no types", kubernetes.display()).into()) } else { Ok(all) }
}
