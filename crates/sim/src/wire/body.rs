use coracle_cluster::{Body, BoxError, boxed};
use coracle_schema::decode::{Format, parse};
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::asked::Asked;
use super::protobuf;

/// Reads from the body the name of a create, and whether a change has a resource version.
pub(super) async fn read(asked: &mut Asked, request: Request<Body>) -> Result<Request<Body>, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let media_type = head.headers.get(CONTENT_TYPE).and_then(|media_type| media_type.to_str().ok());
    note(asked, media_type.unwrap_or_default(), &body);
    Ok(Request::from_parts(head, boxed(Full::new(body))))
}

fn note(asked: &mut Asked, media_type: &str, body: &[u8]) {
    match (asked.verb.as_str(), document(media_type, body)) {
        ("create", Some(object)) => created(&object).clone_into(&mut asked.created),
        ("create", None) => asked.created = protobuf::name(body).unwrap_or_default().to_owned(),
        (verb, Some(object)) => asked.is_conditional = is_conditional(verb, &object),
        (verb, None) => asked.is_conditional = protobuf::is_conditional(verb, body),
    }
}

/// The document in a body of JSON, or of YAML, in which most clients apply; `None` for other bodies.
fn document(media_type: &str, body: &[u8]) -> Option<Value> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let is_yaml = essence.ends_with("+yaml") || essence.ends_with("/yaml");
    let in_yaml = || parse(body, Format::Yaml).ok().map(|(document, _)| document);
    serde_json::from_slice(body).ok().or_else(|| if is_yaml { in_yaml() } else { None })
}

/// The name of an object, or its `generateName`.
fn created(object: &Value) -> &str {
    let text = |field: &str| object["metadata"][field].as_str().filter(|text| !text.is_empty());
    text("name").or_else(|| text("generateName")).unwrap_or_default()
}

/// Whether a write is carried out only at one resource version: that of the object or the patch, the one that a JSON
/// Patch sets, or the one that `DeleteOptions` require.
fn is_conditional(verb: &str, document: &Value) -> bool {
    let sets_version = |step: &Value| {
        let sets = matches!(step["op"].as_str(), Some("add" | "replace"));
        sets && step["path"] == "/metadata/resourceVersion"
            && step["value"].as_str().is_some_and(|text| !text.is_empty())
    };
    match document {
        Value::Array(steps) => steps.iter().any(sets_version),
        object => {
            let part = if verb == "delete" { "preconditions" } else { "metadata" };
            object[part]["resourceVersion"].as_str().is_some_and(|text| !text.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLY: &str = "application/apply-patch+yaml";

    #[test]
    fn a_change_in_json_or_yaml_is_conditional_if_it_has_a_resource_version() {
        let versioned = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  resourceVersion: \"7\"\n";
        let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n";
        let json = r#"{"metadata": {"resourceVersion": "7"}}"#;
        let json_patch = r#"[{"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}]"#;
        let tested = r#"[{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}]"#;
        let required = r#"{"preconditions": {"resourceVersion": "7"}}"#;
        for (verb, media_type, body, expected) in [
            ("patch", APPLY, versioned, true),
            ("patch", APPLY, plain, false),
            ("patch", APPLY, json, true),
            ("update", "application/yaml; charset=utf-8", versioned, true),
            ("update", "application/json", json, true),
            ("update", "application/json", versioned, false),
            ("patch", "application/merge-patch+json", "{}", false),
            ("patch", "application/json-patch+json", json_patch, true),
            ("patch", "application/json-patch+json", tested, false),
            ("delete", "application/json", required, true),
            ("delete", "application/json", json, false),
            ("delete", "", "", false),
        ] {
            let document = document(media_type, body.as_bytes());
            let found = document.is_some_and(|document| is_conditional(verb, &document));
            assert_eq!(found, expected, "{verb} {media_type} {body}");
        }
    }

    #[test]
    fn the_name_of_a_create_is_read_in_json_and_in_yaml() {
        for (media_type, body, name) in [
            ("application/yaml", "metadata: {name: web}", "web"),
            ("application/json", r#"{"metadata": {"generateName": "web-"}}"#, "web-"),
            ("application/json", r#"{"metadata": {"name": "", "generateName": "web-"}}"#, "web-"),
            ("application/json", "{}", ""),
        ] {
            assert_eq!(created(&document(media_type, body.as_bytes()).unwrap()), name, "{body}");
        }
    }
}
