//! The types as Kubernetes publishes them: `api/openapi-spec/v3` of the module.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::failure::Failure;

/// Definitions by their full names.
pub(crate) type Definitions = BTreeMap<String, Map<String, Value>>;

/// Reads all documents of the module `k8s.io/kubernetes`.
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
    if all.is_empty() { Err(format!("{} publishes no types", kubernetes.display()).into()) } else { Ok(all) }
}
