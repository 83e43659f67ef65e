use coracle_meta::Object;
use serde_json::{Value, json};

use super::{GROUP, SERVICE, VERSION};

/// The APIService by which it is found.
pub(crate) const API_SERVICE: &str = "v1beta1.metrics.k8s.io";
/// By which it is known that the APIService stands for who answers in this process.
pub(crate) const SIMULATED: &str = "coracle.dev/simulated";

/// The objects by which a cluster has it, but for the Deployment: there is no program to run.
///
/// In Kubernetes: the manifests of a release of metrics-server.
pub(crate) fn manifests() -> Vec<Object> {
    let (namespace, name) = SERVICE;
    let rbac = "rbac.authorization.k8s.io";
    let account = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
    let bound = |kind: &str, role: &str| json!({"roleRef": {"apiGroup": rbac, "kind": kind, "name": role}, "subjects": account});
    let read = json!(["get", "list", "watch"]);
    let rbac_version = format!("{rbac}/v1");
    let aggregated = ["view", "edit", "admin"].map(|to| (format!("{rbac}/aggregate-to-{to}"), Value::from("true")));
    let mut reader = object(
        &rbac_version,
        "ClusterRole",
        "",
        "system:aggregated-metrics-reader",
        json!({
            "rules": [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": read}],
        }),
    );
    for (label, value) in aggregated {
        reader["metadata"]["labels"][label] = value;
    }
    let of_nodes = json!([
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": read},
    ]);
    let auth_reader = bound("Role", "extension-apiserver-authentication-reader");
    let port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https", "appProtocol": "https"});
    let mut api_service = object(
        "apiregistration.k8s.io/v1",
        "APIService",
        "",
        API_SERVICE,
        json!({"spec": {
            "service": {"name": name, "namespace": namespace, "port": 443}, "group": GROUP, "version": VERSION,
            "insecureSkipTLSVerify": true, "groupPriorityMinimum": 100, "versionPriority": 100,
        }}),
    );
    api_service["metadata"]["annotations"] = json!({SIMULATED: "true"});
    let objects = [
        object("v1", "ServiceAccount", namespace, name, json!({})),
        reader,
        object(&rbac_version, "ClusterRole", "", "system:metrics-server", json!({"rules": of_nodes})),
        object(&rbac_version, "RoleBinding", namespace, "metrics-server-auth-reader", auth_reader),
        object(
            &rbac_version,
            "ClusterRoleBinding",
            "",
            "metrics-server:system:auth-delegator",
            bound("ClusterRole", "system:auth-delegator"),
        ),
        object(
            &rbac_version,
            "ClusterRoleBinding",
            "",
            "system:metrics-server",
            bound("ClusterRole", "system:metrics-server"),
        ),
        object("v1", "Service", namespace, name, json!({"spec": {"ports": [port]}})),
        api_service,
    ];
    objects.into_iter().filter_map(|object| Object::from_value(object).ok()).collect()
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
