//! OpenAPI 3.0: a document for each group and version.

use coracle_release::Release;
use serde_json::{Map, Value, json};

use super::custom;
use super::dialect::Dialect;
use super::parameters::Parameter;
use super::route::{Model, PathRoutes, Route, by_path};
use super::schemas::{self, SchemaWriter};
use super::{Descriptions, Published, routes_of};
use crate::table::Table;

/// The document of a name; `None` if there is no such document.
pub fn v3(
    release: &Release,
    path: &str,
    resources: &[Published<'_>],
    descriptions: &dyn Descriptions,
) -> Option<Value> {
    let table = Table::of(release);
    let (routes, here) = routes_of(release, path, resources, descriptions)?;
    let mut schemas = Map::new();
    let mut open: Vec<String> = routes.iter().flat_map(models).collect();
    for published in &here {
        if published.schema.is_some() {
            custom::add_kind(table, published, Dialect::V3, descriptions, &mut schemas);
            open.extend(custom::REFERRED.map(str::to_owned));
        }
    }
    let is_custom = here.iter().any(|published| published.schema.is_some());
    let paths: Map<String, Value> = by_path(routes).into_iter().map(|(path, item)| (path, of_path(&item))).collect();
    schemas::add_referenced(&SchemaWriter::new(release, descriptions).of_document(path), open, &mut schemas);
    if is_custom {
        schemas.values_mut().for_each(custom::forget_unknown_groups);
    }
    let mut components = json!({});
    if !schemas.is_empty() {
        components["schemas"] = schemas.into();
    }
    if !is_custom {
        components["securitySchemes"] = json!({"BearerToken": super::bearer_token()});
    }
    // In Kubernetes, another server publishes custom kinds, with its own title.
    let info =
        if is_custom { json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}) } else { super::info(release) };
    Some(json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": components}))
}

/// The types to which a route refers.
pub(super) fn models(route: &Route) -> impl Iterator<Item = String> {
    let body = route.body.iter().map(|body| &body.model);
    body.chain([&route.answer]).filter_map(|model| match model {
        Model::Named(name) => Some(name.clone()),
        Model::Text => None,
    })
}

fn of_path(item: &PathRoutes) -> Value {
    let mut out: Map<String, Value> =
        item.routes.iter().map(|route| (route.method.to_owned(), of_route(route))).collect();
    if !item.shared.is_empty() {
        out.insert("parameters".to_owned(), item.shared.iter().map(of_parameter).collect());
    }
    Value::Object(out)
}

fn of_route(route: &Route) -> Value {
    let mut out = json!({"description": route.description, "operationId": route.id, "tags": [route.tag]});
    if !route.parameters.is_empty() {
        out["parameters"] = route.parameters.iter().map(of_parameter).collect();
    }
    if let Some(body) = &route.body {
        out["requestBody"] = json!({"content": content(route.consumes, &body.model)});
        if body.required {
            out["requestBody"]["required"] = true.into();
        }
    }
    out["responses"] = route.responses(&json!({"content": content(route.produces, &route.answer)}));
    for (name, value) in route.extensions() {
        out[name] = value;
    }
    out
}

fn of_parameter(parameter: &Parameter) -> Value {
    let schema = json!({"type": parameter.ty, "uniqueItems": true});
    let mut out = json!({
        "name": parameter.name, "in": parameter.location, "schema": schema, "description": parameter.description,
    });
    if parameter.location == "path" {
        out["required"] = true.into();
    }
    out
}

fn content(media: &[&str], model: &Model) -> Value {
    let schema = match model {
        Model::Text => json!({"type": "string"}),
        Model::Named(name) => json!({"$ref": format!("#/components/schemas/{name}")}),
    };
    media.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect()
}
