use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{Computed, KindSpec, Registry, Request, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;

/// `componentstatuses`, computed and deprecated. In Kubernetes: `pkg/registry/core/componentstatus`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        deprecation: Some("v1 ComponentStatus is deprecated in v1.19+".to_owned()),
        columns: columns(),
        computed: Some(Arc::new(ComponentStatuses)),
        ..built_in(release, "", "v1", "componentstatuses")
    }
}

/// The name of the store.
const STORE: &str = "etcd-0";
/// The other components, and the ports at which kube-apiserver probes them on its own machine.
/// In Kubernetes: `componentStatusStorage.serversToValidate`.
const COMPONENTS: [(&str, u16); 2] = [("controller-manager", 10257), ("scheduler", 10259)];
/// The timeout of a probe. In Kubernetes: `probeTimeOut`.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reports the health of components: those of the same process directly, others by probes of their ports.
pub(crate) struct ComponentStatuses;

#[async_trait]
impl Computed for ComponentStatuses {
    async fn create(&self, _registry: &Registry, request: &Request, _body: Object) -> Result<Object, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "create"))
    }

    async fn get(&self, registry: &Registry, request: &Request) -> Result<Object, Status> {
        let name = request.at.name.as_str();
        if name == STORE {
            return Ok(of_store(registry).await);
        }
        match COMPONENTS.iter().find(|(component, _)| *component == name) {
            Some((component, port)) => Ok(of_component(registry, component, *port).await),
            // In Kubernetes the error names the resource in the singular.
            None => Err(Status::not_found(&GroupResource::new("", "componentstatus"), name)),
        }
    }

    async fn list(&self, registry: &Registry, _request: &Request) -> Result<Vec<Object>, Status> {
        let mut all = Vec::new();
        for (component, port) in COMPONENTS {
            all.push(of_component(registry, component, port).await);
        }
        all.push(of_store(registry).await);
        Ok(all)
    }
}

async fn of_store(registry: &Registry) -> Object {
    let answer = registry.last_change(&GroupVersionResource::new("", "v1", "namespaces")).await;
    let condition = match answer {
        Ok(_) => json!({"type": "Healthy", "status": "True", "message": "ok"}),
        Err(status) => json!({"type": "Healthy", "status": "False", "message": "", "error": status.message}),
    };
    status(STORE, &condition)
}

/// In Kubernetes: `HttpServer.DoServerCheck`, which reports an unreachable program as unhealthy, with the reason as the
/// message.
async fn of_component(registry: &Registry, name: &str, port: u16) -> Object {
    let origin = format!("https://127.0.0.1:{port}");
    let answered = match registry.component_runs(name) {
        Some(true) => Ok("ok".to_owned()),
        Some(false) => Err(format!("Get \"{origin}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused")),
        None => registry.probe(&origin, "/healthz", PATIENCE).await.and_then(|answer| {
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            match answer.code {
                200..400 => Ok(said),
                code => Err(format!("HTTP probe failed with statuscode: {code}")),
            }
        }),
    };
    let (is_healthy, message) = match answered {
        Ok(said) => ("True", said),
        Err(why) => ("False", why),
    };
    status(name, &json!({"type": "Healthy", "status": is_healthy, "message": message}))
}

fn status(name: &str, condition: &Value) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "ComponentStatus"));
    object.set("metadata.name", name);
    object.set("conditions", json!([condition]));
    object
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Status", "Status of the component conditions", |object| health(object).0.into()),
        TableColumn::text("Message", "Message of the component conditions", |object| health(object).1.into()),
        TableColumn::text("Error", "Error of the component conditions", |object| health(object).2.into()),
    ]
}

/// Status, message and error.
fn health(object: &Object) -> (&str, &str, &str) {
    let healthy = object.list("conditions").iter().find(|condition| condition.text("type") == "Healthy");
    match healthy {
        Some(condition) if condition.text("status") == "True" => {
            ("Healthy", condition.text("message"), condition.text("error"))
        }
        Some(condition) => ("Unhealthy", condition.text("message"), condition.text("error")),
        None => ("Unknown", "", ""),
    }
}
