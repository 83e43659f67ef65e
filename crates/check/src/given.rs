use coracle_meta::Object;
use coracle_scenario::parse_objects;
use serde_json::Value;

use crate::Error;

/// The objects of a YAML or JSON text with one or more documents; a `List` becomes its items. `what` is the text's name
/// in messages.
///
/// # Errors
/// If the text is not valid, or a document is not an object.
pub(crate) fn objects(what: &str, text: &str) -> Result<Vec<Object>, Error> {
    let bad = |why: String| Error::Input(format!("{what}: {why}"));
    let documents = parse_objects(text).map_err(bad)?;
    if documents.is_empty() {
        return Err(bad("it has no object".to_owned()));
    }
    documents.into_iter().map(|document| object(document).map_err(bad)).collect()
}

fn object(document: Value) -> Result<Object, String> {
    let object = Object::from_value(document).map_err(|error| error.to_string())?;
    for (field, value) in [("apiVersion", object.api_version()), ("kind", object.kind())] {
        if value.is_empty() {
            return Err(format!("an object has no `{field}`"));
        }
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_objects_and_everything_else_is_refused_with_its_name() {
        let text = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n";
        let kinds: Vec<String> = objects("f", text).unwrap().iter().map(|object| object.kind().to_owned()).collect();
        assert_eq!(kinds, ["ConfigMap", "Pod"]);
        let list = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}, {apiVersion: v1, kind: Secret}]}";
        assert_eq!(objects("f", list).unwrap().len(), 2);
        for (text, why) in [
            ("", "f: it has no object"),
            ("kind: Pod", "f: an object has no `apiVersion`"),
            ("apiVersion: v1", "f: an object has no `kind`"),
            ("- 1", "f: "),
            ("a: [", "f: "),
        ] {
            assert!(objects("f", text).unwrap_err().to_string().starts_with(why), "{text}");
        }
    }
}
