use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{GetOptions, Registry, Request, Verb};
use coracle_resources::Config;
use serde_json::{Value, json};

use crate::{ApiServerSpec, Error};

/// The namespaces that every cluster has. In Kubernetes: the controller `systemnamespaces`.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The port of an API server that is not reached from outside.
const DEFAULT_PORT: u16 = 6443;
/// As whom the API server writes.
const MANAGER: &str = "kube-apiserver";

/// Writes what every cluster begins with, where it is missing.
pub(crate) async fn write(registry: &Registry, spec: &ApiServerSpec, kinds: &Config) -> Result<(), Error> {
    let mut objects: Vec<Object> = NAMESPACES.iter().map(|name| namespace(name)).collect();
    objects.extend(coracle_auth::bootstrap_policy());
    objects.extend(simulated_nodes());
    objects.extend(coracle_resources::bootstrap(kinds));
    objects.push(kubernetes_service(spec, kinds));
    for object in objects {
        let kind = object.group_version_kind().unwrap_or_default();
        // Somebody may have said that a kind is not to be served.
        if registry.kinds().kind(&kind).is_some() {
            create_if_missing(registry, object).await?;
        }
    }
    Ok(())
}

/// The service by which pods reach the API.
pub(crate) fn kubernetes_service(spec: &ApiServerSpec, kinds: &Config) -> Object {
    let port = spec.advertised.map_or(DEFAULT_PORT, |address| address.port());
    coracle_resources::kubernetes_service(kinds, port)
}

/// Lets one process speak for all nodes that it simulates, which Kubernetes has no role for.
fn simulated_nodes() -> [Object; 2] {
    let rules = json!([
        {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status"], "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["get", "list", "watch"]},
    ]);
    grant(crate::SIMULATED_NODES_USER, crate::SIMULATED_NODES_USER, rules)
}

/// A ClusterRole with these rules, bound to a user.
fn grant(name: &str, user: &str, rules: Value) -> [Object; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let mut role = Object::of_kind(&GroupVersionKind::new(GROUP, "v1", "ClusterRole"));
    role.set("metadata.name", name);
    role.set("rules", rules);
    let mut binding = Object::of_kind(&GroupVersionKind::new(GROUP, "v1", "ClusterRoleBinding"));
    binding.set("metadata.name", name);
    binding.set("roleRef", json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": name}));
    binding.set("subjects", json!([{"apiGroup": GROUP, "kind": "User", "name": user}]));
    [role, binding]
}

fn namespace(name: &str) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "Namespace"));
    object.set("metadata", json!({"name": name}));
    object
}

/// Creates an object, unless there is one of its name.
pub(crate) async fn create_if_missing(registry: &Registry, object: Object) -> Result<(), Status> {
    let kind = object.group_version_kind().unwrap_or_default();
    let kinds = registry.kinds();
    let known = kinds.kind(&kind).ok_or_else(|| Status::internal(format!("no kind {kind}")))?;
    let now = registry.ambient().clock.now();
    // Asked for first, because creating may fail before it finds the name taken: an address that the object holds already.
    let read = Request::new(Verb::Get, known.gvr(), now).object(object.namespace(), object.name());
    match registry.get(&read, &GetOptions::default()).await {
        Err(status) if status.is_not_found() => {}
        other => return other.map(|_| ()),
    }
    let request = Request { field_manager: MANAGER.to_owned(), ..Request::new(Verb::Create, known.gvr(), now) };
    match registry.create(&request.object(object.namespace(), ""), object).await {
        Err(status) if status.is_already_exists() => Ok(()),
        other => other.map(|_| ()),
    }
}
