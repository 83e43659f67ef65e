//! The default objects of a cluster, except its namespaces and its RBAC rules.
//! In Kubernetes: the post-start hooks of kube-apiserver.

use coracle_meta::Object;
use serde_json::json;

use crate::built_in::object;
use crate::config::Config;
use crate::flowcontrol;

/// The objects that an API server creates if they are missing: the ServiceCIDR, the system priority classes, and the
/// priority levels and flow schemas.
pub fn bootstrap(config: &Config) -> Vec<Object> {
    let mut objects = vec![
        priority(
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        priority(
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        service_cidr(config),
    ];
    objects.extend(flowcontrol::every_cluster_has());
    objects
}

fn priority(name: &str, value: i64, description: &str) -> Object {
    let fields = json!({"value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority"});
    object("scheduling.k8s.io", "PriorityClass", name, fields)
}

/// The ServiceCIDR of the configured ranges.
pub fn service_cidr(config: &Config) -> Object {
    let cidrs: Vec<String> = config.service_cluster_ip_ranges.iter().map(ToString::to_string).collect();
    object("networking.k8s.io", "ServiceCIDR", "kubernetes", json!({"spec": {"cidrs": cidrs}}))
}

/// The Service through which pods reach the API server on `port`. It has the first address of the range.
pub fn kubernetes_service(config: &Config, port: u16) -> Object {
    let mut spec = json!({
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
    });
    if let Some(range) = config.service_cluster_ip_ranges.first() {
        spec["clusterIP"] = range.address_at(1).to_string().into();
    }
    let mut service = object("", "Service", "kubernetes", json!({"spec": spec}));
    service.set("metadata.namespace", "default");
    service.set("metadata.labels", json!({"component": "apiserver", "provider": "kubernetes"}));
    service
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn default_objects_are_valid() {
        let config = Config::default();
        let kinds = kinds(&config);
        let service = kubernetes_service(&config, 6443);
        for mut object in bootstrap(&config).into_iter().chain([service]) {
            let kind = kinds
                .iter()
                .find(|kind| Some(&kind.spec().row.kind) == object.group_version_kind().as_ref())
                .expect("a built-in kind");
            kind.set_defaults(&mut object);
            if object.kind() != "Service" {
                assert_eq!(kind.validate(&object), [], "{}", object.name());
            }
        }
    }
}
