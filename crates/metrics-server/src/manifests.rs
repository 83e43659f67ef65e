use coracle_meta::Object;
use serde_json::{Value, json};

use crate::{GROUP, SERVICE};

/// The annotation of an APIService that this process serves.
pub(crate) const SIMULATED: &str = "coracle.dev/simulated";
const RBAC: &str = "rbac.authorization.k8s.io";
const READ: [&str; 3] = ["get", "list", "watch"];

/// The name of the APIService of a version.
pub(crate) fn api_service_name(version: &str) -> String {
    format!("{version}.{GROUP}")
}

/// The objects of an installation that serves these versions, without the Deployment: no program runs.
///
/// In Kubernetes: the manifests of a release of metrics-server.
pub(crate) fn manifests(versions: &[&str]) -> Vec<Object> {
    let (namespace, name) = SERVICE;
    let port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https", "appProtocol": "https"});
    let objects = [
        object("v1", "ServiceAccount", namespace, name, json!({})),
        aggregated_reader(),
        server_role(),
        binding("RoleBinding", namespace, "metrics-server-auth-reader", "extension-apiserver-authentication-reader"),
        binding("ClusterRoleBinding", "", "metrics-server:system:auth-delegator", "system:auth-delegator"),
        binding("ClusterRoleBinding", "", "system:metrics-server", "system:metrics-server"),
        object("v1", "Service", namespace, name, json!({"spec": {"ports": [port]}})),
    ];
    let objects = objects.into_iter().chain(versions.iter().map(|version| api_service(version)));
    objects.filter_map(|object| Object::from_value(object).ok()).collect()
}

/// The role that lets those who may view, edit or administer a namespace read metrics.
fn aggregated_reader() -> Value {
    let rules = json!([{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": READ}]);
    let mut role =
        object(&rbac_version(), "ClusterRole", "", "system:aggregated-metrics-reader", json!({"rules": rules}));
    for aggregate in ["view", "edit", "admin"] {
        role["metadata"]["labels"][format!("{RBAC}/aggregate-to-{aggregate}")] = "true".into();
    }
    role
}

/// The role that lets the server read nodes, pods and the nodes' metrics.
fn server_role() -> Value {
    let rules = json!([
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": READ},
    ]);
    object(&rbac_version(), "ClusterRole", "", "system:metrics-server", json!({"rules": rules}))
}

/// Binds a role to the server's account: a `RoleBinding` binds a Role, a `ClusterRoleBinding` a ClusterRole.
fn binding(kind: &str, in_namespace: &str, name: &str, role: &str) -> Value {
    let (namespace, account) = SERVICE;
    let fields = json!({
        "roleRef": {"apiGroup": RBAC, "kind": kind.trim_end_matches("Binding"), "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    });
    object(&rbac_version(), kind, in_namespace, name, fields)
}

/// All versions have the same priority, so that their names order them: `v1` before `v1beta1`.
fn api_service(version: &str) -> Value {
    let (namespace, name) = SERVICE;
    let spec = json!({
        "service": {"name": name, "namespace": namespace, "port": 443}, "group": GROUP, "version": version,
        "insecureSkipTLSVerify": true, "groupPriorityMinimum": 100, "versionPriority": 100,
    });
    let mut service =
        object("apiregistration.k8s.io/v1", "APIService", "", &api_service_name(version), json!({"spec": spec}));
    service["metadata"]["annotations"] = json!({SIMULATED: "true"});
    service
}

fn rbac_version() -> String {
    format!("{RBAC}/v1")
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, fields: Value) -> Value {
    let mut object = fields;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": name, "labels": {"k8s-app": "metrics-server"}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}
