//! Swagger 2.0: one document for everything.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use coracle_release::Release;
use serde_json::{Map, Value, json};

use super::custom;
use super::dialect::Dialect;
use super::parameters::Parameter;
use super::route::{Model, PathRoutes, Route, by_path};
use super::schemas::{self, SchemaWriter};
use super::v3::models;
use super::{Descriptions, Published, routes_of, v3_paths};
use crate::table::Table;

/// Parameters that are not shared: the names of objects, and those with which old clients detect features of a server.
/// In Kubernetes: `collectSharedParameters`.
const IN_PLACE: [&str; 3] = ["name", "fieldValidation", "dryRun"];

/// One document for everything. Swagger 2 has no unions and no `nullable`, so these are left out. Defaults are left
/// out, too, because Kubernetes publishes them only in v3.
pub fn v2(release: &Release, resources: &[Published<'_>], descriptions: &dyn Descriptions) -> Value {
    let table = Table::of(release);
    let mut routes = Vec::new();
    for path in v3_paths(resources) {
        routes.extend(routes_of(release, &path, resources, descriptions).into_iter().flat_map(|(routes, _)| routes));
    }
    let mut definitions = Map::new();
    let mut open: Vec<String> = routes.iter().flat_map(models).collect();
    for published in resources.iter().filter(|published| published.schema.is_some()) {
        custom::add_kind(table, published, Dialect::V2, descriptions, &mut definitions);
        open.extend(custom::REFERRED.map(str::to_owned));
    }
    let mut built_in = Map::new();
    open.retain(|name| !definitions.contains_key(name));
    schemas::add_referenced(&SchemaWriter::new(release, descriptions), open, &mut built_in);
    definitions.extend(built_in.iter().map(|(name, schema)| (name.clone(), of_schema(schema))));
    let mut shared = BTreeMap::new();
    let paths: Map<String, Value> =
        by_path(routes).into_iter().map(|(path, item)| (path, of_path(&item, &mut shared))).collect();
    json!({
        "swagger": "2.0",
        "info": super::info(release),
        "paths": paths,
        "definitions": definitions,
        "parameters": shared,
        "securityDefinitions": {"BearerToken": super::bearer_token()},
        "security": [{"BearerToken": []}],
    })
}

fn of_path(item: &PathRoutes, shared: &mut BTreeMap<String, Value>) -> Value {
    let mut out: Map<String, Value> =
        item.routes.iter().map(|route| (route.method.to_owned(), of_route(route, shared))).collect();
    if !item.shared.is_empty() {
        let parameters = item.shared.iter().map(|parameter| of_parameter(parameter, shared)).collect();
        out.insert("parameters".to_owned(), parameters);
    }
    Value::Object(out)
}

fn of_route(route: &Route, shared: &mut BTreeMap<String, Value>) -> Value {
    let mut out = json!({
        "description": route.description, "operationId": route.id, "tags": [route.tag],
        "produces": route.produces, "schemes": ["https"],
    });
    if !route.consumes.is_empty() {
        out["consumes"] = route.consumes.into();
    }
    let before_body = |parameter: &&Parameter| parameter.name.as_str() < "body";
    let (before, after): (Vec<_>, Vec<_>) = route.parameters.iter().partition(before_body);
    let mut parameters: Vec<Value> = before.iter().map(|parameter| of_parameter(parameter, shared)).collect();
    if let Some(body) = &route.body {
        let mut parameter = json!({"name": "body", "in": "body", "schema": of_model(&body.model)});
        if body.required {
            parameter["required"] = true.into();
        }
        let is_of_all = matches!(&body.model, Model::Named(name) if name.starts_with(super::META));
        parameters.push(if is_of_all { share("body", parameter, shared) } else { parameter });
    }
    parameters.extend(after.iter().map(|parameter| of_parameter(parameter, shared)));
    if !parameters.is_empty() {
        out["parameters"] = parameters.into();
    }
    out["responses"] = route.responses(&json!({"schema": of_model(&route.answer)}));
    for (name, value) in route.extensions() {
        out[name] = value;
    }
    out
}

fn of_model(model: &Model) -> Value {
    match model {
        Model::Text => json!({"type": "string"}),
        Model::Named(name) => json!({"$ref": format!("#/definitions/{name}")}),
    }
}

fn of_parameter(parameter: &Parameter, shared: &mut BTreeMap<String, Value>) -> Value {
    let mut out = json!({
        "name": parameter.name, "in": parameter.location, "type": parameter.ty, "uniqueItems": true,
        "description": parameter.description,
    });
    if parameter.location == "path" {
        out["required"] = true.into();
    }
    if IN_PLACE.contains(&parameter.name.as_str()) { out } else { share(&parameter.name, out, shared) }
}

/// Shares a parameter of many operations under its name and its hash.
fn share(name: &str, parameter: Value, shared: &mut BTreeMap<String, Value>) -> Value {
    let hash = fnv(parameter.to_string().as_bytes()).to_be_bytes();
    let name = format!("{name}-{}", URL_SAFE.encode(&hash[..6]));
    let reference = json!({"$ref": format!("#/parameters/{name}")});
    shared.entry(name).or_insert(parameter);
    reference
}

/// The hash FNV-1 of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The part of the schema of a built-in kind that v2 supports.
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
            // Kubernetes publishes quantities and int-or-strings as strings here.
            "oneOf" => drop(out.insert("type".to_owned(), "string".into())),
            "default" => {}
            _ => drop(out.insert(name.clone(), value.clone())),
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_that_everybody_computes() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_bd4c_8601_b7be);
    }
}
