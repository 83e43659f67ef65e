use coracle_registry::{Column, TableColumn};
use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{Object, parse_time};
use serde_json::{Value, json};

use crate::cells::{since, text_or};

/// The table of pods. In Kubernetes: `printPod`.
pub(super) fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Ready",
            "The aggregate readiness state of this pod for accepting traffic.",
            |object| Summary::of(object).ready().into(),
        ),
        TableColumn::text(
            "Status",
            "The aggregate status of the containers in this pod.",
            |object| Summary::of(object).reason.into(),
        ),
        TableColumn::new(
            Column::new("Restarts", "string", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
            |object, now| Summary::of(object).restarts.text(now).into(),
        ),
        TableColumn::age(),
        TableColumn::text(
            "IP",
            "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
            |object| text_or(object.list("status.podIPs").first().map_or("", |ip| ip.text("ip")), "<none>"),
        ).wide(),
        TableColumn::text(
            "Node",
            "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
            |object| text_or(object.text("spec.nodeName"), "<none>"),
        ).wide(),
        TableColumn::text(
            "Nominated Node",
            "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.",
            |object| text_or(object.text("status.nominatedNodeName"), "<none>"),
        ).wide(),
        TableColumn::text(
            "Readiness Gates",
            "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to \"True\" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates",
            |object| readiness_gates(object).into(),
        ).wide(),
    ]
}

/// A finished pod is `Completed`, so that clients can hide it.
pub(super) fn row_conditions(object: &Object) -> Vec<Value> {
    let (reason, message) = match object.text("status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return Vec::new(),
    };
    vec![json!({"type": "Completed", "status": "True", "reason": reason, "message": message})]
}

/// The number of restarts, and the end of the last one.
#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += container.int("restartCount");
        let ended = parse_time(container.text("lastState.terminated.finishedAt"));
        self.last = self.last.max(ended);
    }

    fn text(&self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!("{} ({} ago)", self.count, since(&coracle_meta::format_time(last).into(), now))
            }
            _ => self.count.to_string(),
        }
    }
}

/// A summary of the containers of a pod.
struct Summary {
    reason: String,
    ready: usize,
    total: usize,
    restarts: Restarts,
}

impl Summary {
    /// The number of ready containers and of all containers.
    fn ready(&self) -> String {
        format!("{}/{}", self.ready, self.total)
    }

    fn of(pod: &Object) -> Self {
        let sidecars = sidecars(pod);
        let mut summary = Self {
            reason: reason_of_pod(pod),
            ready: 0,
            total: pod.list("spec.containers").len() + sidecars.values().filter(|is_sidecar| **is_sidecar).count(),
            restarts: Restarts::default(),
        };
        let initializing = summary.add_init_containers(pod, &sidecars);
        if !initializing || has_condition(pod, "Initialized") {
            summary.add_containers(pod, &sidecars);
        }
        if pod.is_terminating() {
            if pod.text("status.reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(pod.text("status.phase"), "Failed" | "Succeeded") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Adds the init containers up to the first unfinished one; returns whether there is one.
    fn add_init_containers(&mut self, pod: &Object, sidecars: &BTreeMap<&str, bool>) -> bool {
        let total = pod.list("spec.initContainers").len();
        for (at, status) in pod.list("status.initContainerStatuses").iter().enumerate() {
            self.restarts.add(status);
            let terminated = status.at("state.terminated");
            let waiting = status.text("state.waiting.reason");
            if !terminated.is_null() && terminated.int("exitCode") == 0 {
                continue;
            }
            if is_sidecar(status, sidecars) && status.flag("started") {
                self.ready += usize::from(status.flag("ready"));
                continue;
            }
            self.reason = if !terminated.is_null() {
                format!("Init:{}", reason_of_end(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{total}")
            };
            return true;
        }
        false
    }

    /// Adds the containers from the last to the first, so that the reason of the first one counts.
    fn add_containers(&mut self, pod: &Object, sidecars: &BTreeMap<&str, bool>) {
        self.restarts = Restarts::default();
        let init = pod.list("status.initContainerStatuses").iter();
        init.filter(|status| is_sidecar(status, sidecars)).for_each(|status| self.restarts.add(status));
        let mut has_running = false;
        let mut failure = None;
        for status in pod.list("status.containerStatuses").iter().rev() {
            self.restarts.add(status);
            let terminated = status.at("state.terminated");
            let waiting = status.text("state.waiting.reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if !terminated.is_null() {
                self.reason = reason_of_end(terminated);
                if terminated.int("exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if status.flag("ready") && status.has("state.running") {
                has_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if has_running && has_condition(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if has_running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

fn reason_of_pod(pod: &Object) -> String {
    let conditions = pod.list("status.conditions");
    let gated = conditions
        .iter()
        .any(|condition| condition.text("type") == "PodScheduled" && condition.text("reason") == "SchedulingGated");
    let reason = pod.text("status.reason");
    match (gated, reason.is_empty()) {
        (true, _) => "SchedulingGated",
        (false, false) => reason,
        (false, true) => pod.text("status.phase"),
    }
    .to_owned()
}

/// The reason of a container's termination, or its signal or exit code.
fn reason_of_end(terminated: &Value) -> String {
    match (terminated.text("reason"), terminated.int("signal")) {
        ("", 0) => format!("ExitCode:{}", terminated.int("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Whether init containers are sidecars, by name.
fn sidecars(pod: &Object) -> BTreeMap<&str, bool> {
    let init = pod.list("spec.initContainers").iter();
    init.map(|container| (container.text("name"), container.text("restartPolicy") == "Always")).collect()
}

fn is_sidecar(status: &Value, sidecars: &BTreeMap<&str, bool>) -> bool {
    sidecars.get(status.text("name")).copied().unwrap_or(false)
}

fn has_condition(pod: &Object, kind: &str) -> bool {
    crate::cells::has_condition(pod, kind, "True")
}

fn readiness_gates(pod: &Object) -> String {
    let gates = pod.list("spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let passed = gates.iter().filter(|gate| has_condition(pod, gate.text("conditionType"))).count();
    format!("{passed}/{}", gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(status: Value) -> String {
        let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}, "status": status});
        Summary::of(&Object::from_value(pod).unwrap()).reason
    }

    #[test]
    fn the_reason_of_the_first_container_that_has_one_stands() {
        let waiting = |reason| json!({"state": {"waiting": {"reason": reason}}});
        let status = json!({"phase": "Pending", "containerStatuses": [waiting("ErrImagePull"), waiting("Other")]});
        assert_eq!(reason(status), "ErrImagePull");
    }

    #[test]
    fn a_pod_that_is_half_completed_still_runs_if_it_is_ready() {
        let status = json!({
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                {"ready": true, "state": {"running": {}}},
            ],
        });
        assert_eq!(reason(status), "Running");
    }

    #[test]
    fn an_init_container_that_failed_is_named() {
        let status = json!({"phase": "Pending", "initContainerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]});
        assert_eq!(reason(status), "Init:ExitCode:3");
    }
}
