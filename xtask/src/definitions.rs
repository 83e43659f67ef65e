//! Types as Kubernetes' OpenAPI definitions give them: from the Python package `kubernetes-validate`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use crate::schema::Failure;

const PACKAGE: &str = "kubernetes-validate==1.37.0";
const FILE: &str = "kubernetes_validate/kubernetes-json-schema/v1.35.0-local/_definitions.json";

/// Definitions by their full names.
pub(crate) type Definitions = BTreeMap<String, Map<String, Value>>;

/// Downloads the package once into `folder` and reads the definitions of 1.35.
pub(crate) fn read(folder: &Path) -> Result<Definitions, Failure> {
    let file = folder.join(FILE);
    if !file.exists() {
        std::fs::create_dir_all(folder)?;
        let download = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:none:", PACKAGE, "-d"];
        run(Command::new("python3").args(download).arg(folder))?;
        let wheel = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .ok_or("pip downloaded no wheel")?;
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(folder))?;
    }
    let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let definitions = document["$defs"].as_object().ok_or("the package holds no $defs")?;
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    Ok(definitions.iter().map(|(name, definition)| (name.clone(), object(definition))).collect())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    if command.status()?.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
