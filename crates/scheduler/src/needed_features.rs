//! Which features of a node a pod needs.

use coracle_api::core_v1::{Container, PodSpec};

/// The features that the node of a pod must declare. In Kubernetes: `nodedeclaredfeatures`, `InferForScheduling`.
pub(crate) fn needed_features(spec: &PodSpec) -> Vec<&'static str> {
    let restarts_all =
        |container: &Container| container.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers");
    let restarts_all = spec.containers.iter().chain(&spec.init_containers).any(restarts_all);
    let maps_users_of_host = spec.host_network && spec.host_users == Some(false);
    let needed = [
        ("RestartAllContainersOnContainerExits", restarts_all),
        ("UserNamespacesHostNetworkSupport", maps_users_of_host),
    ];
    needed.into_iter().filter(|(_, needed)| *needed).map(|(feature, _)| feature).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_needs_what_its_containers_and_its_host_use() {
        let needed = |spec: serde_json::Value| needed_features(&serde_json::from_value(spec).unwrap());
        let rules = json!([{"action": "RestartAllContainers"}]);
        let container = json!({"name": "c", "restartPolicyRules": rules});
        assert_eq!(needed(json!({"containers": [container]})), ["RestartAllContainersOnContainerExits"]);
        assert_eq!(needed(json!({"initContainers": [container]})), ["RestartAllContainersOnContainerExits"]);
        let host = json!({"hostNetwork": true, "hostUsers": false});
        assert_eq!(needed(host), ["UserNamespacesHostNetworkSupport"]);
        assert!(needed(json!({"hostNetwork": true})).is_empty());
    }
}
