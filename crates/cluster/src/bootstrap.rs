use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{Registry, Request, Verb};
use serde_json::json;

use crate::{ApiServerSpec, Error};

/// The namespaces that every cluster has. In Kubernetes: the controller `systemnamespaces`.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Writes what every cluster begins with, where it is missing.
pub(crate) async fn write(registry: &Registry, spec: &ApiServerSpec) -> Result<(), Error> {
    let mut objects: Vec<Object> = NAMESPACES.iter().map(|name| namespace(name)).collect();
    objects.extend(coracle_auth::bootstrap_policy());
    for object in objects {
        create_if_missing(registry, object).await?;
    }
    let _ = spec;
    Ok(())
}

fn namespace(name: &str) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "Namespace"));
    object.set(&["metadata"], json!({"name": name}));
    object
}

async fn create_if_missing(registry: &Registry, object: Object) -> Result<(), Status> {
    let kind = object.group_version_kind().unwrap_or_default();
    let kinds = registry.kinds();
    let known = kinds.kind(&kind).ok_or_else(|| Status::internal(format!("no kind {kind}")))?;
    let request = Request::new(Verb::Create, known.gvr(), registry.ambient().clock.now());
    match registry.create(&request.object(object.namespace(), ""), object).await {
        Err(status) if status.is_already_exists() => Ok(()),
        other => other.map(|_| ()),
    }
}
