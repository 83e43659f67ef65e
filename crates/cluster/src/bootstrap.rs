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
    objects.extend(simulated_nodes());
    for object in objects {
        create_if_missing(registry, object).await?;
    }
    let _ = spec;
    Ok(())
}

/// Lets one process speak for all nodes that it simulates, which Kubernetes has no role for.
fn simulated_nodes() -> [Object; 2] {
    const NAME: &str = "system:coracle:simulated-nodes";
    let rbac = |kind: &str| GroupVersionKind::new("rbac.authorization.k8s.io", "v1", kind);
    let mut role = Object::of_kind(&rbac("ClusterRole"));
    role.set(&["metadata", "name"], NAME);
    role.set(
        &["rules"],
        json!([
            {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status"], "verbs": ["*"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
            {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
            {"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["get", "list", "watch"]},
        ]),
    );
    let mut binding = Object::of_kind(&rbac("ClusterRoleBinding"));
    binding.set(&["metadata", "name"], NAME);
    binding.set(&["roleRef"], json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}));
    binding.set(
        &["subjects"],
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": crate::SIMULATED_NODES_USER}]),
    );
    [role, binding]
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
