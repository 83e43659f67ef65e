//! The objects of files and of the standard input.

use coracle_meta::go_quote;
use coracle_yaml::YamlNode;
use serde_json::Value;

use crate::failure::Failure;
use crate::kinds::{Kinds, ServedKind};
use crate::session::CommandSession;
use crate::values::{name, namespace, text};

/// An object, its kind, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) kind: ServedKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: Value,
    /// The file; empty if the object comes from the server.
    pub(crate) source: String,
}

impl Info {
    pub(crate) fn of(kind: &ServedKind, object: Value) -> Self {
        Self {
            kind: kind.clone(),
            namespace: namespace(&object).to_owned(),
            name: name(&object).to_owned(),
            object,
            source: String::new(),
        }
    }
}

/// A text with objects.
struct Source {
    name: String,
    text: String,
}

/// The objects of the files of `-f`, in their order, and the errors of those that cannot be read.
pub(crate) async fn read(session: &mut CommandSession<'_>) -> Result<(Vec<Info>, Vec<Failure>), Failure> {
    let kinds = session.kinds().await?;
    let (mut infos, mut failures) = (Vec::new(), Vec::new());
    for source in sources(session)? {
        let documents = match documents(&source) {
            Ok(documents) => documents,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        for object in documents.into_iter().flat_map(flatten) {
            match recognize(object, &source.name, &kinds, session) {
                Ok(info) => infos.push(info),
                Err(failure) => failures.push(failure),
            }
        }
    }
    Ok((infos, failures))
}

/// The objects of the files of `-f` without their kinds: of those that the server does not know, too.
fn sources(session: &CommandSession<'_>) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for file in session.flags.texts("filename") {
        if file == "-" {
            sources.push(Source { name: "STDIN".to_owned(), text: session.input.stdin.clone() });
            continue;
        }
        if file.starts_with("http://") || file.starts_with("https://") {
            return Err(Failure::text(format!("unable to read URL {}: the console has no network", go_quote(file))));
        }
        let path = file.trim_start_matches("./");
        if let Some(text) = session.input.files.get(path).or_else(|| session.input.files.get(file)) {
            sources.push(Source { name: file.clone(), text: text.clone() });
            continue;
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below = session.input.files.iter().filter(|(name, _)| {
            let within =
                name.strip_prefix(&folder).is_some_and(|rest| session.flags.is("recursive") || !rest.contains('/'));
            within && [".yaml", ".yml", ".json"].iter().any(|extension| name.ends_with(extension))
        });
        let below: Vec<Source> = below.map(|(name, text)| Source { name: name.clone(), text: text.clone() }).collect();
        if below.is_empty() {
            return Err(Failure::text(format!("the path {} does not exist", go_quote(file))));
        }
        sources.extend(below);
    }
    Ok(sources)
}

fn documents(source: &Source) -> Result<Vec<Value>, Failure> {
    let mut objects = Vec::new();
    for document in split(&source.text) {
        let node = YamlNode::parse(&document).map_err(|error| {
            let line = if error.line == 0 { String::new() } else { format!("line {}: ", error.line) };
            let why = format!("error converting YAML to JSON: yaml: {line}{}", error.message);
            Failure::text(format!("error parsing {}: {why}", source.name))
        })?;
        if !node.is_null() {
            objects.push(Value::from(&node));
        }
    }
    Ok(objects)
}

/// The documents of a text. In Kubernetes: `yaml.splitYAMLDocument`.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// The items of a list, or the object itself.
fn flatten(object: Value) -> Vec<Value> {
    let Value::Object(mut fields) = object else { return vec![object] };
    let is_list = fields.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match fields.get("items") {
        Some(Value::Array(_)) if is_list => match fields.remove("items") {
            Some(Value::Array(items)) => items.into_iter().flat_map(flatten).collect(),
            _ => Vec::new(),
        },
        _ => vec![Value::Object(fields)],
    }
}

fn recognize(mut object: Value, source: &str, kinds: &Kinds, session: &CommandSession<'_>) -> Result<Info, Failure> {
    let quoted = go_quote(source);
    let Value::Object(_) = object else {
        let what = "json: cannot unmarshal into Go value of type struct { APIVersion string; Kind string }";
        return Err(Failure::text(format!("unable to decode {quoted}: {what}")));
    };
    let (api_version, kind) = (text(&object, "/apiVersion").to_owned(), text(&object, "/kind").to_owned());
    if session.validates() {
        let unset = [("apiVersion", &api_version), ("kind", &kind)].into_iter().filter(|(_, value)| value.is_empty());
        let unset: Vec<String> = unset.map(|(field, _)| format!("{field} not set")).collect();
        if let Some(why) = match unset.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        } {
            return Err(Failure::text(format!(
                "error validating {quoted}: error validating data: {why}; if you choose to ignore these errors, turn \
                 validation off with --validate=false"
            )));
        }
    }
    if kind.is_empty() {
        let body = object.to_string();
        return Err(Failure::text(format!("unable to decode {quoted}: Object 'Kind' is missing in '{body}'")));
    }
    let Some(found) = kinds.of_manifest(&api_version, &kind) else {
        let (name, namespace) = (go_quote(name(&object)), go_quote(namespace(&object)));
        let missing = format!("no matches for kind {} in version {}", go_quote(&kind), go_quote(&api_version));
        return Err(Failure::text(format!(
            "resource mapping not found for name: {name} namespace: {namespace} from {quoted}: {missing}\nensure CRDs are \
             installed first"
        )));
    };
    let mut own = namespace(&object).to_owned();
    if found.is_namespaced && own.is_empty() {
        own = session.namespace();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), own.clone().into());
        }
    } else if found.is_namespaced && session.has_namespace() && own != session.namespace() {
        return Err(Failure::text(format!(
            "the namespace from the provided object {} does not match the namespace {}. You must pass '--namespace={own}' \
             to perform this operation.",
            go_quote(&own),
            go_quote(&session.namespace())
        )));
    }
    if !found.is_namespaced {
        own.clear();
    }
    let name = name(&object).to_owned();
    Ok(Info { kind: found.clone(), namespace: own, name, object, source: source.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_separated_by_lines_of_three_dashes() {
        let text = "---\na: 1\n---\n\n--- # c\nb: |\n  x\n  ----\n";
        assert_eq!(split(text), ["a: 1\n", "b: |\n  x\n  ----\n"]);
        assert!(split("").is_empty());
    }

    #[test]
    fn lists_are_flattened() {
        let list = serde_json::json!({"kind": "List", "items": [{"kind": "A"}, {"kind": "BList", "items": [1, 2]}]});
        assert_eq!(flatten(list).len(), 3);
        assert_eq!(flatten(serde_json::json!({"kind": "A", "items": [1]})).len(), 1);
    }
}
