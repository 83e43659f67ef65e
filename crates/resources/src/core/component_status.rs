use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{Computed, KindSpec, Registry, Request, TableColumn};
use serde_json::json;

use crate::built_in::built_in;

/// `componentstatuses`, computed and deprecated. In Kubernetes: `pkg/registry/core/componentstatus`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        deprecation: Some("v1 ComponentStatus is deprecated in v1.19+".to_owned()),
        columns: columns(),
        computed: Some(Arc::new(ComponentStatuses)),
        ..built_in("", "v1", "componentstatuses")
    }
}

/// The name of the store.
const STORE: &str = "etcd-0";

/// Says how the store is.
///
/// Unlike Kubernetes: the scheduler and the controller-manager are not asked, because they listen on no port.
pub(crate) struct ComponentStatuses;

#[async_trait]
impl Computed for ComponentStatuses {
    async fn create(&self, _registry: &Registry, request: &Request, _body: Object) -> Result<Object, Status> {
        Err(Status::method_not_supported(&request.group_resource(), "create"))
    }

    async fn get(&self, registry: &Registry, request: &Request) -> Result<Object, Status> {
        match request.at.name.as_str() {
            STORE => Ok(of_store(registry).await),
            other => Err(Status::not_found(&request.group_resource(), other)),
        }
    }

    async fn list(&self, registry: &Registry, _request: &Request) -> Result<Vec<Object>, Status> {
        Ok(vec![of_store(registry).await])
    }
}

async fn of_store(registry: &Registry) -> Object {
    let answer = registry.last_change(&GroupVersionResource::new("", "v1", "namespaces")).await;
    let condition = match answer {
        Ok(_) => json!({"type": "Healthy", "status": "True", "message": "ok"}),
        Err(status) => json!({"type": "Healthy", "status": "False", "message": "", "error": status.message}),
    };
    let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "ComponentStatus"));
    object.set("metadata.name", STORE);
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
