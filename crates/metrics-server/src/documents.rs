use serde_json::{Value, json};

use crate::{GROUP, VERSION};

/// The discovery or OpenAPI document at a path, if there is one: the group, its resources, their schemas.
pub(crate) fn document(path: &[&str]) -> Option<Value> {
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
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes metrics-server", "version": "v0"},
        "paths": paths(),
        "components": {"schemas": schemas()},
    })
}

fn paths() -> Value {
    let here = format!("/apis/{GROUP}/{VERSION}");
    json!({
        format!("{here}/nodes"): operation("list", "NodeMetrics", "NodeMetricsList"),
        format!("{here}/nodes/{{name}}"): operation("get", "NodeMetrics", "NodeMetrics"),
        format!("{here}/pods"): operation("list", "PodMetrics", "PodMetricsList"),
        format!("{here}/namespaces/{{namespace}}/pods"): operation("list", "PodMetrics", "PodMetricsList"),
        format!("{here}/namespaces/{{namespace}}/pods/{{name}}"): operation("get", "PodMetrics", "PodMetrics"),
    })
}

fn operation(action: &str, kind: &str, answer: &str) -> Value {
    let content = json!({"application/json": {"schema": {"$ref": reference(answer)}}});
    json!({"get": {
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind_of(kind),
    }})
}

fn schemas() -> Value {
    let usage = json!({
        "description": "The memory usage is the memory working set.", "type": "object",
        "additionalProperties": {"type": "string"},
    });
    let containers = json!({
        "description": "Metrics for all containers are collected within the same time window.", "type": "array",
        "items": {"$ref": reference("ContainerMetrics")}, "x-kubernetes-list-type": "atomic",
    });
    json!({
        schema_name("ContainerMetrics"): container_schema(&usage),
        schema_name("NodeMetrics"):
            metrics_schema("NodeMetrics", "NodeMetrics sets resource usage metrics of a node.", "usage", &usage),
        schema_name("NodeMetricsList"): list_schema("NodeMetrics"),
        schema_name("PodMetrics"):
            metrics_schema("PodMetrics", "PodMetrics sets resource usage metrics of a pod.", "containers", &containers),
        schema_name("PodMetricsList"): list_schema("PodMetrics"),
    })
}

fn container_schema(usage: &Value) -> Value {
    json!({
        "description": "ContainerMetrics sets resource usage metrics of a container.", "type": "object",
        "required": ["name", "usage"],
        "properties": {
            "name": {"description": "Container name corresponding to the one from pod.spec.containers.", "type": "string"},
            "usage": usage,
        },
    })
}

/// The schema of a kind that has `measured` in its field `field`.
fn metrics_schema(kind: &str, description: &str, field: &str, measured: &Value) -> Value {
    let timestamp = json!({"description": "The following fields define time interval from which metrics were collected from the interval [Timestamp-Window, Timestamp].", "type": "string", "format": "date-time"});
    json!({
        "description": description, "type": "object", "required": ["timestamp", "window", field],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "timestamp": timestamp, "window": {"type": "string"}, field: measured,
        },
        "x-kubernetes-group-version-kind": [kind_of(kind)],
    })
}

fn list_schema(kind: &str) -> Value {
    json!({
        "description": format!("{kind}List is a list of {kind}."), "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": reference(kind)}},
        },
        "x-kubernetes-group-version-kind": [kind_of(&format!("{kind}List"))],
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
