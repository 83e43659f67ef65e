//! Admission by the node: which bound pods it rejects.
//!
//! In Kubernetes: `pkg/kubelet/lifecycle/predicate.go`, and `AdmissionCheck` of the scheduler.

use coracle_api::core_v1::{Node, Pod};
use coracle_api::pod_resources::{Amounts, add};
use coracle_meta::Quantity;
use serde::{Deserialize, Serialize};

/// The resources that the pods of a node take.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) pods: usize,
    pub(crate) requests: Amounts,
    pub(crate) ports: Vec<HostPort>,
}

/// A port of the node: the address (empty for all), the protocol, the number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HostPort {
    address: String,
    protocol: String,
    number: i32,
}

impl HostPort {
    fn collides(&self, other: &Self) -> bool {
        let is_all = |address: &str| matches!(address, "" | "0.0.0.0" | "::");
        self.number == other.number
            && self.protocol == other.protocol
            && (is_all(&self.address) || is_all(&other.address) || self.address == other.address)
    }
}

/// The resources that a pod takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Share {
    requests: Amounts,
    ports: Vec<HostPort>,
}

impl Share {
    pub(crate) fn of(pod: &Pod) -> Self {
        let ports = pod.spec.containers.iter().flat_map(|container| &container.ports);
        let ports = ports.filter(|port| port.host_port > 0).map(|port| HostPort {
            address: port.host_ip.clone(),
            protocol: if port.protocol.is_empty() { "TCP".to_owned() } else { port.protocol.clone() },
            number: port.host_port,
        });
        Self { requests: pod.requests(), ports: ports.collect() }
    }
}

impl Taken {
    pub(crate) fn add(&mut self, share: &Share) {
        self.pods += 1;
        add(&mut self.requests, &share.requests);
        self.ports.extend(share.ports.iter().cloned());
    }
}

/// Why a node rejects a pod: the reason and the message; none if it admits the pod.
pub(crate) fn refusal(pod: &Pod, share: &Share, node: &Node, taken: &Taken) -> Option<(&'static str, String)> {
    insufficient(share, node, taken).or_else(|| {
        let failed =
            |predicate: &'static str, why: &str| Some((predicate, format!("Predicate {predicate} failed: {why}")));
        if !pod.spec.allows_node(node) {
            return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
        }
        if share.ports.iter().any(|own| taken.ports.iter().any(|other| own.collides(other))) {
            return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
        }
        let keeps_off = node.spec.taints.iter().filter(|taint| taint.effect == "NoExecute");
        let mut untolerated =
            keeps_off.filter(|taint| !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(taint)));
        untolerated.next().and_then(|_| failed("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
    })
}

/// The resource of the node that is insufficient for a pod.
pub(crate) fn insufficient(share: &Share, node: &Node, taken: &Taken) -> Option<(&'static str, String)> {
    let allocatable = |resource: &str| node.status.allocatable.get(resource).copied();
    let lacks = |reason, resource: &str, requested: i64, used: i64, capacity: i64| {
        let message = format!(
            "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
        );
        Some((reason, message))
    };
    let pods = allocatable("pods").unwrap_or_default().value();
    let used = i64::try_from(taken.pods).unwrap_or(i64::MAX);
    if used.saturating_add(1) > pods {
        return lacks("OutOfpods", "pods", 1, used, pods);
    }
    for (resource, reason) in
        [("cpu", "OutOfcpu"), ("memory", "OutOfmemory"), ("ephemeral-storage", "OutOfephemeral-storage")]
    {
        let amount = |amount: Quantity| if resource == "cpu" { amount.milli_value() } else { amount.value() };
        let of = |amounts: &Amounts| amounts.get(resource).copied().map_or(0, amount);
        let (requested, used) = (of(&share.requests), of(&taken.requests));
        let capacity = allocatable(resource).map_or(0, amount);
        if requested > 0 && requested > capacity.saturating_sub(used) {
            return lacks(reason, resource, requested, used, capacity);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(taints: serde_json::Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "labels": {"disk": "ssd"}}, "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "2"}}
        }))
        .unwrap()
    }

    fn pod(spec: serde_json::Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    fn refused(pod: &Pod, node: &Node, beside: &[&Pod]) -> Option<(&'static str, String)> {
        let mut taken = Taken::default();
        beside.iter().for_each(|other| taken.add(&Share::of(other)));
        refusal(pod, &Share::of(pod), node, &taken)
    }

    #[test]
    fn a_node_admits_no_more_pods_than_it_has_resources_for() {
        let asking = |cpu: &str| pod(json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}));
        let node = node(json!([]));
        assert_eq!(refused(&asking("1500m"), &node, &[&asking("500m")]), None);
        assert_eq!(
            refused(&asking("2"), &node, &[&asking("500m")]),
            Some((
                "OutOfcpu",
                "Node didn't have enough resource: cpu, requested: 2000, used: 500, capacity: 2000".to_owned()
            ))
        );
        let (reason, message) = refused(&asking("1m"), &node, &[&asking("1m"), &asking("1m")]).unwrap();
        assert_eq!(
            (reason, message.as_str()),
            ("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2")
        );
    }

    #[test]
    fn a_node_refuses_what_the_scheduler_would_not_have_given_it() {
        let reason = |spec, taints| refused(&pod(spec), &node(taints), &[]).map(|(reason, _)| reason);
        let taint = json!([{"key": "k", "effect": "NoExecute"}]);
        assert_eq!(reason(json!({"nodeSelector": {"disk": "hdd"}}), json!([])), Some("NodeAffinity"));
        assert_eq!(reason(json!({}), taint.clone()), Some("TaintToleration"));
        assert_eq!(reason(json!({"tolerations": [{"operator": "Exists"}]}), taint), None);
        assert_eq!(reason(json!({}), json!([{"key": "k", "effect": "NoSchedule"}])), None);
        let port = pod(json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}));
        assert_eq!(refused(&port, &node(json!([])), &[&port]).unwrap().0, "NodePorts");
    }
}
