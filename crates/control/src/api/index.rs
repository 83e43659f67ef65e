use coracle_cluster::PathRequest;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::ENDPOINTS;
use super::endpoint::{self, Answer, Endpoint};
use crate::ControlledCluster;
use crate::paths::PREFIX;

pub(super) const INDEX: Endpoint = Endpoint::new("get", "", "What this server is", index);
pub(super) const OPENAPI: Endpoint = Endpoint::new("get", "openapi.json", "This document", openapi);

fn index(controlled: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async move {
        let generation = controlled.generation()?;
        let kubernetes = generation.cluster.registry().release().to_string();
        let (version, time) = (env!("CARGO_PKG_VERSION"), controlled.time().to_string());
        let index = json!({"apiVersion": "coracle.dev/v1", "version": version, "kubernetes": kubernetes, "time": time});
        Ok(endpoint::json(StatusCode::OK, &index))
    })
}

fn openapi(_: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async { Ok(endpoint::json(StatusCode::OK, &document())) })
}

/// The OpenAPI document of all endpoints.
fn document() -> Value {
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let path = format!("{PREFIX}/{}", endpoint.path);
        let operations = paths.entry(path.trim_end_matches('/')).or_insert_with(|| json!({}));
        operations[endpoint.verb] = operation(endpoint);
    }
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Coracle control endpoint",
            "version": "v1",
            "description": "Time, resets, snapshots, forks, faults and the event log of a running server. Each request is authorized as a verb of a resource in the group coracle.dev. Errors are meta/v1 Status objects.",
        },
        "paths": paths,
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    if endpoint.path.contains("{name}") {
        parameters.push(json!({"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}));
    }
    for (name, description) in endpoint.parameters {
        parameters.push(json!({"name": name, "in": "query", "description": description, "schema": {"type": "string"}}));
    }
    let mut operation = json!({
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", "content": {endpoint.answers: {}}},
            "default": {"description": "Status of meta/v1", "content": {"application/json": {}}},
        },
    });
    if !endpoint.fields.is_empty() {
        let field = |(name, kind, about): &(&str, &str, &str)| {
            ((*name).to_owned(), json!({"type": kind, "description": about}))
        };
        let properties: Map<String, Value> = endpoint.fields.iter().map(field).collect();
        let schema = json!({"type": "object", "additionalProperties": false, "properties": properties});
        operation["requestBody"] = json!({"content": {"application/json": {"schema": schema}}});
    }
    operation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_each_endpoint() {
        let document = document();
        for endpoint in ENDPOINTS {
            let path = format!("{PREFIX}/{}", endpoint.path).trim_end_matches('/').to_owned();
            assert!(document["paths"][&path][endpoint.verb]["summary"].is_string(), "{path}");
        }
        assert_eq!(document["paths"]["/coracle/v1/snapshots/{name}"]["put"]["parameters"][0]["name"], "name");
    }
}
