use serde_json::{Value, json};

use crate::GROUP;

/// The discovery or OpenAPI document at a path, if there is one: the group, its resources, their schemas. The server
/// serves these versions, the preferred one first.
pub(crate) fn document(path: &[&str], versions: &[&str]) -> Option<Value> {
    let served = |wanted: &str| versions.iter().find(|version| **version == wanted).copied();
    match path {
        ["apis"] => Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(versions)]})),
        ["apis", GROUP] => {
            let mut group = group(versions);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Some(group)
        }
        ["apis", GROUP, version] => served(version).map(resources),
        ["openapi", "v3"] => {
            let place = |version: &&str| {
                let here = format!("apis/{GROUP}/{version}");
                let url = format!("/openapi/v3/{here}?hash={}", env!("CARGO_PKG_VERSION"));
                (here, json!({"serverRelativeURL": url}))
            };
            let paths: serde_json::Map<String, Value> = versions.iter().map(place).collect();
            Some(json!({"paths": paths}))
        }
        ["openapi", "v3", "apis", GROUP, version] => served(version).map(|version| OpenApi { version }.document()),
        _ => None,
    }
}

fn group(versions: &[&str]) -> Value {
    let version = |name: &&str| json!({"groupVersion": format!("{GROUP}/{name}"), "version": name});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": GROUP, "preferredVersion": versions.first(), "versions": versions})
}

fn resources(version: &str) -> Value {
    let resource = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/{version}"),
        "resources": [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
    })
}

/// The OpenAPI of a version. The descriptions are those of `k8s.io/metrics`, where the versions differ in nothing but
/// their names.
struct OpenApi<'a> {
    version: &'a str,
}

impl OpenApi<'_> {
    fn document(&self) -> Value {
        json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes metrics-server", "version": "v0"},
            "paths": self.paths(),
            "components": {"schemas": self.schemas()},
        })
    }

    fn paths(&self) -> Value {
        let here = format!("/apis/{GROUP}/{}", self.version);
        json!({
            format!("{here}/nodes"): self.operation("list", "NodeMetrics", "NodeMetricsList"),
            format!("{here}/nodes/{{name}}"): self.operation("get", "NodeMetrics", "NodeMetrics"),
            format!("{here}/pods"): self.operation("list", "PodMetrics", "PodMetricsList"),
            format!("{here}/namespaces/{{namespace}}/pods"): self.operation("list", "PodMetrics", "PodMetricsList"),
            format!("{here}/namespaces/{{namespace}}/pods/{{name}}"): self.operation("get", "PodMetrics", "PodMetrics"),
        })
    }

    fn operation(&self, action: &str, kind: &str, answer: &str) -> Value {
        let content = json!({"application/json": {"schema": {"$ref": self.reference(answer)}}});
        json!({"get": {
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": self.kind_of(kind),
        }})
    }

    fn schemas(&self) -> Value {
        let usage = json!({
            "description": "The memory usage is the memory working set.", "type": "object",
            "additionalProperties": {"type": "string"},
        });
        let containers = json!({
            "description": "Metrics for all containers are collected within the same time window.", "type": "array",
            "items": {"$ref": self.reference("ContainerMetrics")}, "x-kubernetes-list-type": "atomic",
        });
        json!({
            self.schema_name("ContainerMetrics"): self.container_schema(&usage),
            self.schema_name("NodeMetrics"):
                self.metrics_schema("NodeMetrics", "NodeMetrics sets resource usage metrics of a node.", "usage", &usage),
            self.schema_name("NodeMetricsList"): self.list_schema("NodeMetrics"),
            self.schema_name("PodMetrics"):
                self.metrics_schema("PodMetrics", "PodMetrics sets resource usage metrics of a pod.", "containers", &containers),
            self.schema_name("PodMetricsList"): self.list_schema("PodMetrics"),
        })
    }

    fn container_schema(&self, usage: &Value) -> Value {
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
    fn metrics_schema(&self, kind: &str, description: &str, field: &str, measured: &Value) -> Value {
        let timestamp = json!({"description": "The following fields define time interval from which metrics were collected from the interval [Timestamp-Window, Timestamp].", "type": "string", "format": "date-time"});
        json!({
            "description": description, "type": "object", "required": ["timestamp", "window", field],
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                "timestamp": timestamp, "window": {"type": "string"}, field: measured,
            },
            "x-kubernetes-group-version-kind": [self.kind_of(kind)],
        })
    }

    fn list_schema(&self, kind: &str) -> Value {
        json!({
            "description": format!("{kind}List is a list of {kind}."), "type": "object", "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                "items": {"type": "array", "items": {"$ref": self.reference(kind)}},
            },
            "x-kubernetes-group-version-kind": [self.kind_of(&format!("{kind}List"))],
        })
    }

    fn schema_name(&self, kind: &str) -> String {
        format!("io.k8s.metrics.pkg.apis.metrics.{}.{kind}", self.version)
    }

    fn reference(&self, kind: &str) -> String {
        format!("#/components/schemas/{}", self.schema_name(kind))
    }

    fn kind_of(&self, kind: &str) -> Value {
        json!({"group": GROUP, "version": self.version, "kind": kind})
    }
}
