use serde_json::{Map, Value, json};

/// Merges the document of an extension API server into `document`. Existing paths stay. If two different definitions
/// have the same name, the one of the extension API server is renamed.
///
/// In Kubernetes: `aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters`.
pub(super) fn merge(document: &mut Value, other: &Value) {
    let own = document["definitions"].as_object().cloned().unwrap_or_default();
    let others = other["definitions"].as_object().cloned().unwrap_or_default();
    let renamed: Map<String, Value> = others
        .iter()
        .filter(|(name, definition)| own.get(*name).is_some_and(|own| !says_the_same(own, definition)))
        .map(|(name, definition)| (name.clone(), free_name(name, definition, &own, &others).into()))
        .collect();
    for (name, mut definition) in others {
        rename(&mut definition, &renamed);
        let name = renamed.get(&name).and_then(Value::as_str).map_or(name, str::to_owned);
        members(document, "definitions").entry(name).or_insert(definition);
    }
    for (path, mut item) in other["paths"].as_object().cloned().unwrap_or_default() {
        rename(&mut item, &renamed);
        members(document, "paths").entry(path).or_insert(item);
    }
}

fn members<'d>(document: &'d mut Value, name: &str) -> &'d mut Map<String, Value> {
    if !document[name].is_object() {
        document[name] = json!({});
    }
    document[name].as_object_mut().expect("it was just made one")
}

/// A name that is unused, or used only by an equal definition.
fn free_name(name: &str, definition: &Value, own: &Map<String, Value>, others: &Map<String, Value>) -> String {
    let names = (2..).map(|number| format!("{name}_v{number}"));
    let is_free = |name: &String| {
        own.get(name).is_none_or(|taken| says_the_same(taken, definition)) && !others.contains_key(name)
    };
    { names }.find(is_free).unwrap_or_default()
}

/// Whether two definitions are equal except for descriptions and for their `x-kubernetes-group-version-kind`.
fn says_the_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let counts = |(name, value): &(&String, &Value)| {
                !(*name == "description" && value.is_string() || *name == "x-kubernetes-group-version-kind")
            };
            let names = |members: &Map<String, Value>| members.iter().filter(counts).count();
            names(one) == names(other)
                && one
                    .iter()
                    .filter(counts)
                    .all(|(name, value)| other.get(name).is_some_and(|other| says_the_same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| says_the_same(one, other))
        }
        (one, other) => one == other,
    }
}

fn rename(value: &mut Value, names: &Map<String, Value>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get_mut("$ref") {
                let name = reference.as_str().and_then(|name| name.strip_prefix("#/definitions/"));
                if let Some(new) = name.and_then(|name| names.get(name)).and_then(Value::as_str) {
                    *reference = format!("#/definitions/{new}").into();
                }
            }
            members.values_mut().for_each(|member| rename(member, names));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| rename(element, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_definitions_are_renamed() {
        let refer = |name: &str| json!({"$ref": format!("#/definitions/{name}")});
        let mut document = json!({
            "paths": {"/a": {"own": true}},
            "definitions": {"Same": {"type": "string", "description": "one word"}, "Other": {"type": "string"}},
        });
        let other = json!({
            "paths": {"/a": {}, "/b": {"schema": refer("Other")}},
            "definitions": {"Same": {"type": "string", "description": "another"}, "Other": {"items": refer("Same")}},
        });
        merge(&mut document, &other);
        assert_eq!(document["paths"], json!({"/a": {"own": true}, "/b": {"schema": refer("Other_v2")}}));
        assert_eq!(document["definitions"]["Other"], json!({"type": "string"}));
        assert_eq!(document["definitions"]["Other_v2"], json!({"items": refer("Same")}));
        assert_eq!(document["definitions"].as_object().unwrap().len(), 3);
    }
}
