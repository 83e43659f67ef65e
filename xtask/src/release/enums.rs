//! The values of enumerations, which the published documents lack: from the generated `zz_generated.openapi.go`.

use std::collections::BTreeMap;
use std::path::Path;

use super::packages::Package;
use crate::failure::Failure;

/// The values of a field, by the full name of its type and its own name.
pub(crate) type Enums = BTreeMap<(String, String), Vec<String>>;

/// Reads the values of the fields of these packages.
pub(crate) fn read(kubernetes: &Path, packages: &[Package]) -> Result<Enums, Failure> {
    let text = std::fs::read_to_string(kubernetes.join("pkg/generated/openapi/zz_generated.openapi.go"))?;
    let prefixes: Vec<(String, &Package)> =
        packages.iter().map(|package| (function_prefix(package), package)).collect();
    let (mut enums, mut ty, mut field) = (Enums::new(), None, None);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("func ") {
            let function = rest.split('(').next().unwrap_or(rest);
            let package = prefixes.iter().find_map(|(prefix, package)| Some((function.strip_prefix(prefix)?, package)));
            ty = package.map(|(name, package)| format!("{}.{name}", package.name));
        } else if let Some(rest) = line.strip_prefix("\t\t\t\t\t\"") {
            field = rest.strip_suffix("\": {").map(str::to_owned);
        } else if let (Some(list), Some(ty), Some(field)) = (values(line), &ty, &field) {
            enums.insert((ty.clone(), field.clone()), list);
        }
    }
    Ok(enums)
}

/// In Kubernetes: the generator names the function by the last four parts of the package.
fn function_prefix(package: &Package) -> String {
    let parts: Vec<String> = package.path.split('/').map(|part| part.replace(['.', '-'], "")).collect();
    format!("schema_{}_", parts[parts.len().saturating_sub(4)..].join("_"))
}

fn values(line: &str) -> Option<Vec<String>> {
    let list = line.trim_start().strip_prefix("Enum:")?.split_once('{')?.1.rsplit_once('}')?.0;
    let list = list.strip_prefix("}{").or_else(|| list.split_once("}{").map(|(_, rest)| rest)).unwrap_or(list);
    Some(list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect())
}
