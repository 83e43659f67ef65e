//! Swagger 2.0, from the version 3 documents.

use coracle_meta::KUBERNETES_VERSION;
use serde_json::{Map, Value, json};

use super::{Descriptions, Published, v3, v3_paths};

/// One document for everything. Swagger 2 cannot say all that version 3 can: unions and `nullable` are left out, and
/// so are defaults, which Kubernetes publishes in version 3 alone.
pub fn v2(resources: &[Published<'_>], descriptions: &dyn Descriptions) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for path in v3_paths(resources) {
        let Some(document) = v3(&path, resources, descriptions) else { continue };
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            paths.insert(path.clone(), of_path(item));
        }
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            if !definitions.contains_key(name) {
                definitions.insert(name.clone(), of_definition(schema));
            }
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {"BearerToken": {
            "type": "apiKey", "name": "authorization", "in": "header",
            "description": "Bearer Token authentication",
        }},
        "security": [{"BearerToken": []}],
    })
}

fn of_path(item: &Value) -> Value {
    let mut out = Map::new();
    for (method, operation) in item.as_object().into_iter().flatten() {
        let of_method = if method == "parameters" { of_parameters(operation, None) } else { of_operation(operation) };
        out.insert(method.clone(), of_method);
    }
    Value::Object(out)
}

fn of_parameters(parameters: &Value, body: Option<&Value>) -> Value {
    let flat = |parameter: &Value| {
        let mut out = parameter.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(schema)) = out.remove("schema") {
            out.extend(schema);
        }
        Value::Object(out)
    };
    let mut out: Vec<Value> = parameters.as_array().into_iter().flatten().map(flat).collect();
    if let Some(body) = body {
        let schema = body["content"].as_object().and_then(|content| content.values().next());
        let mut parameter = json!({"name": "body", "in": "body"});
        parameter["schema"] = schema.map(|media| of_schema(&media["schema"])).unwrap_or_default();
        if body["required"] == true {
            parameter["required"] = true.into();
        }
        out.insert(0, parameter);
    }
    out.into()
}

fn of_operation(operation: &Value) -> Value {
    let mut out = operation.as_object().cloned().unwrap_or_default();
    let body = out.remove("requestBody");
    let keys = |content: &Value| -> Value {
        content.as_object().into_iter().flatten().map(|(media, _)| Value::from(media.clone())).collect()
    };
    let parameters = out.remove("parameters").unwrap_or_default();
    if body.is_some() || parameters.is_array() {
        out.insert("parameters".to_owned(), of_parameters(&parameters, body.as_ref()));
    }
    out.insert("consumes".to_owned(), body.map_or_else(|| json!(["*/*"]), |body| keys(&body["content"])));
    out.insert("produces".to_owned(), keys(&operation["responses"]["200"]["content"]));
    out.insert("schemes".to_owned(), json!(["https"]));
    let answers = operation["responses"].as_object().into_iter().flatten().map(|(code, answer)| {
        let mut of_code = json!({"description": answer["description"]});
        if let Some(media) = answer["content"].as_object().and_then(|content| content.values().next()) {
            of_code["schema"] = of_schema(&media["schema"]);
        }
        (code.clone(), of_code)
    });
    out.insert("responses".to_owned(), answers.collect());
    Value::Object(out)
}

/// A kind that takes any field is an object of which nothing else is said: kubectl would refuse what is not named.
/// In Kubernetes: `buildKubeNative`.
fn of_definition(schema: &Value) -> Value {
    if schema["x-kubernetes-preserve-unknown-fields"] != true {
        return of_schema(schema);
    }
    let kept = ["x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields"];
    let kept = kept.into_iter().filter_map(|name| Some((name.to_owned(), schema.get(name)?.clone())));
    Value::Object([("type".to_owned(), "object".into())].into_iter().chain(kept).collect())
}

/// What version 2 knows of a schema.
fn of_schema(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (name, value) in fields {
        match name.as_str() {
            "$ref" => {
                let text = value.as_str().unwrap_or_default().replace("#/components/schemas/", "#/definitions/");
                out.insert(name.clone(), text.into());
            }
            "allOf" => {
                let of_one = value.as_array().and_then(|all| all.first()).map(of_schema);
                out.extend(of_one.and_then(|one| one.as_object().cloned()).unwrap_or_default());
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties = properties.map(|(name, property)| (name.clone(), of_schema(property)));
                out.insert(name.clone(), properties.collect());
            }
            "items" | "additionalProperties" => drop(out.insert(name.clone(), of_schema(value))),
            // Kubernetes publishes quantities and int-or-strings as texts here.
            "oneOf" => drop(out.insert("type".to_owned(), "string".into())),
            "anyOf" | "not" | "nullable" | "default" => {}
            _ => drop(out.insert(name.clone(), value.clone())),
        }
    }
    leave_untyped(fields, &mut out);
    Value::Object(out)
}

/// What may be `null`, or hold what nobody knows, has no type here, and nothing below it: kubectl cannot cope with more.
/// In Kubernetes: `ToStructuralOpenAPIV2`.
fn leave_untyped(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    let says = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    let (nullable, unknown) = (says("nullable"), says("x-kubernetes-preserve-unknown-fields"));
    if nullable || unknown {
        out.remove("items");
        out.remove("properties");
    }
    let has_type = |name: &str| schema.get("type").is_some_and(|own| own == name);
    if nullable || unknown && has_type("object") || has_type("array") && !out.contains_key("items") {
        out.remove("type");
    }
    let may_be_null = |name: &Value| {
        let property = schema.get("properties").and_then(|all| all.get(name.as_str().unwrap_or_default()));
        property.is_some_and(|property| property["nullable"] == true)
    };
    if let Some(Value::Array(required)) = out.get_mut("required") {
        required.retain(|name| !may_be_null(name));
    }
}
