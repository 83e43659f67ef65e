use std::path::Path;

use serde_json::Value;

/// Reads the objects of a YAML file with one or more documents; a `List` becomes its items.
pub(crate) fn read_objects(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    parse_objects(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Reads the objects of a YAML or JSON text with one or more documents; a `List` becomes its items.
///
/// # Errors
/// If the text is not valid, with its line and column.
pub fn parse_objects(text: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| error.without_snippet().to_string())?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).flat_map(take_apart).collect())
}

/// The items of a list object; any other object is returned unchanged.
pub(crate) fn take_apart(object: Value) -> Vec<Value> {
    match (object.get("kind").and_then(Value::as_str), object.get("items").and_then(Value::as_array)) {
        (Some("List"), Some(items)) => items.clone(),
        _ => vec![object],
    }
}
