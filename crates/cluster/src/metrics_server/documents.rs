use serde_json::{Value, json};

use super::{GROUP, VERSION};

/// What the server says of itself at a path, if it says anything there: its group, its resources, their schemas.
pub(super) fn document(path: &[&str]) -> Option<Value> {
    let here = format!("apis/{GROUP}/{VERSION}");
    match path {
        ["apis"] => Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]})),
        ["apis", GROUP] => {
            let mut group = group();
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Some(group)
        }
        ["apis", GROUP, VERSION] => Some(resources()),
        ["openapi", "v3"] => {
            let url = format!("/openapi/v3/{here}?hash={}", env!("CARGO_PKG_VERSION"));
            Some(json!({"paths": {here: {"serverRelativeURL": url}}}))
        }
        ["openapi", "v3", "apis", GROUP, VERSION] => Some(openapi()),
        _ => None,
    }
}

fn group() -> Value {
    let version = json!({"groupVersion": format!("{GROUP}/{VERSION}"), "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

fn resources() -> Value {
    let resource = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/{VERSION}"),
        "resources": [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
    })
}

/// The descriptions are those of `k8s.io/metrics`.
fn openapi() -> Value {
    let usage = json!({
        "description": "The memory usage is the memory working set.", "type": "object",
        "additionalProperties": {"type": "string"},
    });
    let measured = json!({"description": "The following fields define time interval from which metrics were collected from the interval [Timestamp-Window, Timestamp].", "type": "string", "format": "date-time"});
    let schema = |kind: &str, description: &str, (name, what): (&str, Value)| {
        json!({
            "description": description, "type": "object", "required": ["timestamp", "window", name],
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                "timestamp": measured, "window": {"type": "string"}, name: what,
            },
            "x-kubernetes-group-version-kind": [kind_of(kind)],
        })
    };
    let list = |kind: &str| {
        json!({
            "description": format!("{kind}List is a list of {kind}."), "type": "object", "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                "items": {"type": "array", "items": {"$ref": reference(kind)}},
            },
            "x-kubernetes-group-version-kind": [kind_of(&format!("{kind}List"))],
        })
    };
    let containers = json!({
        "description": "Metrics for all containers are collected within the same time window.", "type": "array",
        "items": {"$ref": reference("ContainerMetrics")}, "x-kubernetes-list-type": "atomic",
    });
    let container = json!({
        "description": "ContainerMetrics sets resource usage metrics of a container.", "type": "object",
        "required": ["name", "usage"],
        "properties": {
            "name": {"description": "Container name corresponding to the one from pod.spec.containers.", "type": "string"},
            "usage": usage,
        },
    });
    let here = format!("/apis/{GROUP}/{VERSION}");
    let get = |action: &str, kind: &str, answer: &str| {
        let content = json!({"application/json": {"schema": {"$ref": reference(answer)}}});
        json!({"get": {
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind_of(kind),
        }})
    };
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes metrics-server", "version": "v0"},
        "paths": {
            format!("{here}/nodes"): get("list", "NodeMetrics", "NodeMetricsList"),
            format!("{here}/nodes/{{name}}"): get("get", "NodeMetrics", "NodeMetrics"),
            format!("{here}/pods"): get("list", "PodMetrics", "PodMetricsList"),
            format!("{here}/namespaces/{{namespace}}/pods"): get("list", "PodMetrics", "PodMetricsList"),
            format!("{here}/namespaces/{{namespace}}/pods/{{name}}"): get("get", "PodMetrics", "PodMetrics"),
        },
        "components": {"schemas": {
            schema_name("ContainerMetrics"): container,
            schema_name("NodeMetrics"): schema(
                "NodeMetrics", "NodeMetrics sets resource usage metrics of a node.", ("usage", usage.clone())),
            schema_name("NodeMetricsList"): list("NodeMetrics"),
            schema_name("PodMetrics"): schema(
                "PodMetrics", "PodMetrics sets resource usage metrics of a pod.", ("containers", containers)),
            schema_name("PodMetricsList"): list("PodMetrics"),
        }},
    })
}

fn schema_name(kind: &str) -> String {
    format!("io.k8s.metrics.pkg.apis.metrics.{VERSION}.{kind}")
}

fn reference(kind: &str) -> String {
    format!("#/components/schemas/{}", schema_name(kind))
}

fn kind_of(kind: &str) -> Value {
    json!({"group": GROUP, "version": VERSION, "kind": kind})
}
