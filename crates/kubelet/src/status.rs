//! What a node says of a pod: its status, made from what the node knows.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    HostIP, Pod, PodCondition, PodIP, PodStatus, VolumeMountStatus,
};
use coracle_meta::format_time;

use crate::lifecycle::{Exit, PodStage, Runtime};

/// The status of a pod on the node with this address. Conditions that are not the node's are kept.
///
/// In Kubernetes: `generateAPIPodStatus` of `pkg/kubelet`.
pub(crate) fn pod_status(pod: &Pod, runtime: &Runtime, host_ip: &str, now: Timestamp) -> PodStatus {
    let host_ips = vec![HostIP { ip: host_ip.to_owned(), unknown: None }];
    let ip = if pod.spec.host_network { Some(host_ip.to_owned()) } else { runtime.ip.clone() };
    let (reason, message) = runtime.failure.unwrap_or_default();
    let mut containers: Vec<ContainerStatus> =
        pod.spec.containers.iter().map(|container| container_status(pod, runtime, container)).collect();
    containers.sort_by(|a, b| a.name.cmp(&b.name));
    let init = pod.spec.init_containers.iter().enumerate();
    PodStatus {
        phase: phase(pod, runtime).to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: pod.metadata.generation.unwrap_or(0),
        host_ip: host_ip.to_owned(),
        host_ips,
        pod_ip: ip.clone().unwrap_or_default(),
        pod_ips: ip.into_iter().map(|ip| PodIP { ip, unknown: None }).collect(),
        start_time: Some(pod.status.start_time.clone().unwrap_or_else(|| format_time(runtime.seen))),
        conditions: conditions(pod, runtime, now),
        container_statuses: containers,
        init_container_statuses: init.map(|(index, container)| init_status(pod, runtime, index, container)).collect(),
        ..pod.status.clone()
    }
}

fn phase(pod: &Pod, runtime: &Runtime) -> &'static str {
    match &runtime.stage {
        PodStage::Ended if runtime.succeeded() => "Succeeded",
        PodStage::Ended => "Failed",
        PodStage::Starting | PodStage::Sandbox | PodStage::Initializing(_) => "Pending",
        // A pod that is stopped before its containers ran was never running.
        PodStage::Stopping if runtime.running_since.is_none() && pod.status.phase != "Running" => "Pending",
        PodStage::Running | PodStage::Ready | PodStage::BackingOff | PodStage::Stopping => "Running",
    }
}

/// One condition as the node wants it; times and generation are added later.
struct Wanted {
    type_: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

fn wanted(type_: &'static str, holds: bool, reason: &'static str, message: String) -> Wanted {
    Wanted { type_, holds, reason, message }
}

/// Foreign conditions first, then the node's in their order.
fn conditions(pod: &Pod, runtime: &Runtime, now: Timestamp) -> Vec<PodCondition> {
    let names = |containers: &[Container]| {
        containers.iter().map(|container| container.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let ended = runtime.stage == PodStage::Ended;
    let finished = if runtime.succeeded() { "PodCompleted" } else { "PodFailed" };
    let incomplete: Vec<Container> = match runtime.stage {
        PodStage::Starting | PodStage::Sandbox => pod.spec.init_containers.clone(),
        PodStage::Initializing(index) => pod.spec.init_containers[index.min(pod.spec.init_containers.len())..].to_vec(),
        _ => Vec::new(),
    };
    let initialized = match (incomplete.is_empty(), ended && runtime.succeeded()) {
        (true, true) => wanted("Initialized", true, "PodCompleted", String::new()),
        (true, false) => wanted("Initialized", true, "", String::new()),
        (false, _) => wanted(
            "Initialized",
            false,
            "ContainersNotInitialized",
            format!("containers with incomplete status: [{}]", names(&incomplete)),
        ),
    };
    let containers = |type_| match (&runtime.stage, ended) {
        (_, true) => wanted(type_, false, finished, String::new()),
        (PodStage::Ready, _) => wanted(type_, true, "", String::new()),
        // Readiness probes go on while a pod stops, and succeed.
        (PodStage::Stopping, _) if pod.is_ready() => wanted(type_, true, "", String::new()),
        _ => wanted(
            type_,
            false,
            "ContainersNotReady",
            format!("containers with unready status: [{}]", names(&pod.spec.containers)),
        ),
    };
    let sandbox = !matches!(runtime.stage, PodStage::Starting | PodStage::Ended);
    let wanted = [
        wanted("PodReadyToStartContainers", sandbox, "", String::new()),
        initialized,
        with_gates(pod, containers("Ready")),
        containers("ContainersReady"),
        wanted("PodScheduled", true, "", String::new()),
    ];
    let foreign = pod.status.conditions.iter().filter(|condition| !wanted.iter().any(|w| w.type_ == condition.type_));
    foreign.cloned().chain(wanted.iter().map(|wanted| stamp(pod, wanted, now))).collect()
}

/// A pod with readiness gates is ready only if their conditions hold too.
fn with_gates(pod: &Pod, ready: Wanted) -> Wanted {
    let unmet = pod.spec.readiness_gates.iter().filter_map(|gate| {
        let name = &gate.condition_type;
        match pod.condition(name) {
            None => Some(format!("corresponding condition of pod readiness gate \"{name}\" does not exist.")),
            Some(condition) if condition.status != "True" => {
                Some(format!("the status of pod readiness gate \"{name}\" is not \"True\", but {}", condition.status))
            }
            Some(_) => None,
        }
    });
    let unmet: Vec<String> = unmet.collect();
    if ready.holds && !unmet.is_empty() {
        wanted("Ready", false, "ReadinessGatesNotReady", unmet.join(", "))
    } else {
        ready
    }
}

fn stamp(pod: &Pod, wanted: &Wanted, now: Timestamp) -> PodCondition {
    let status = if wanted.holds { "True" } else { "False" };
    let same = pod.condition(wanted.type_).filter(|condition| condition.status == status);
    PodCondition {
        type_: wanted.type_.to_owned(),
        status: status.to_owned(),
        reason: wanted.reason.to_owned(),
        message: wanted.message.clone(),
        observed_generation: pod.metadata.generation.unwrap_or(0),
        last_transition_time: same
            .and_then(|condition| condition.last_transition_time.clone())
            .or_else(|| Some(format_time(now))),
        ..PodCondition::default()
    }
}

fn container_status(pod: &Pod, runtime: &Runtime, container: &Container) -> ContainerStatus {
    let created = if pod.spec.init_containers.is_empty() { "ContainerCreating" } else { "PodInitializing" };
    let (state, ready) = match (&runtime.stage, &runtime.exit) {
        (PodStage::Ended, Some(exit)) => (terminated(pod, container, exit, runtime.restarts), false),
        (PodStage::BackingOff, _) if runtime.crashes > 1 => {
            (waiting("CrashLoopBackOff", &crash_message(pod, container, runtime)), false)
        }
        (PodStage::BackingOff, Some(exit)) => (terminated(pod, container, exit, runtime.restarts), false),
        (PodStage::Running, _) => (running(runtime), false),
        (PodStage::Ready, _) => (running(runtime), true),
        (PodStage::Stopping, _) if runtime.running_since.is_some() => (running(runtime), pod.is_ready()),
        _ => (waiting(created, ""), false),
    };
    let started = state.running.is_some();
    let last = runtime.exit.as_ref().filter(|_| state.terminated.is_none());
    let ran = started || runtime.exit.as_ref().is_some_and(|exit| exit.started.is_some());
    let id = if ran { container_id(pod, container, runtime.restarts) } else { String::new() };
    ContainerStatus {
        last_state: last.map(|exit| terminated(pod, container, exit, runtime.restarts - 1)).unwrap_or_default(),
        state,
        ready,
        started: Some(started),
        restart_count: runtime.restarts,
        ..created_status(container, id)
    }
}

/// The part of a container's status that says what it was made from; `id` is empty before it was made.
fn created_status(container: &Container, id: String) -> ContainerStatus {
    let made = !id.is_empty();
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        image_id: if made { container.image.clone() } else { String::new() },
        container_id: id,
        allocated_resources: if made { container.resources.requests.clone() } else { Default::default() },
        resources: made.then(|| Box::new(container.resources.clone())),
        volume_mounts: container
            .volume_mounts
            .iter()
            .map(|mount| VolumeMountStatus {
                name: mount.name.clone(),
                mount_path: mount.mount_path.clone(),
                read_only: mount.read_only,
                recursive_read_only: mount.read_only.then(|| "Disabled".to_owned()),
                unknown: None,
            })
            .collect(),
        ..ContainerStatus::default()
    }
}

fn init_status(pod: &Pod, runtime: &Runtime, index: usize, container: &Container) -> ContainerStatus {
    let current = match runtime.stage {
        PodStage::Starting | PodStage::Sandbox => None,
        PodStage::Initializing(current) => Some(current),
        _ if runtime.running_since.is_none() && runtime.exit.as_ref().is_none_or(|exit| exit.started.is_none()) => None,
        _ => Some(usize::MAX),
    };
    let id = container_id(pod, container, 0);
    match current {
        Some(current) if index < current => {
            let at = runtime.running_since.unwrap_or(runtime.since);
            let exit = Exit { code: 0, started: Some(runtime.seen), at };
            ContainerStatus {
                state: terminated(pod, container, &exit, 0),
                ready: true,
                started: Some(false),
                ..created_status(container, id)
            }
        }
        Some(current) if index == current => ContainerStatus {
            state: ContainerState {
                running: Some(Box::new(ContainerStateRunning {
                    started_at: Some(format_time(runtime.since)),
                    unknown: None,
                })),
                ..ContainerState::default()
            },
            started: Some(true),
            ..created_status(container, id)
        },
        _ => ContainerStatus {
            state: waiting("PodInitializing", ""),
            started: Some(false),
            ..created_status(container, String::new())
        },
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: reason.to_owned(), message: message.to_owned(), unknown: None };
    ContainerState { waiting: Some(Box::new(waiting)), ..ContainerState::default() }
}

fn running(runtime: &Runtime) -> ContainerState {
    let running = ContainerStateRunning { started_at: runtime.running_since.map(format_time), unknown: None };
    ContainerState { running: Some(Box::new(running)), ..ContainerState::default() }
}

fn terminated(pod: &Pod, container: &Container, exit: &Exit, restarts: i32) -> ContainerState {
    let terminated = match exit.started {
        Some(started) => ContainerStateTerminated {
            exit_code: exit.code,
            reason: if exit.code == 0 { "Completed" } else { "Error" }.to_owned(),
            started_at: Some(format_time(started)),
            finished_at: Some(format_time(exit.at)),
            container_id: container_id(pod, container, restarts),
            ..ContainerStateTerminated::default()
        },
        None => ContainerStateTerminated {
            exit_code: exit.code,
            reason: "ContainerStatusUnknown".to_owned(),
            message: "The container could not be located when the pod was terminated".to_owned(),
            ..ContainerStateTerminated::default()
        },
    };
    ContainerState { terminated: Some(Box::new(terminated)), ..ContainerState::default() }
}

fn crash_message(pod: &Pod, container: &Container, runtime: &Runtime) -> String {
    let seconds = crate::lifecycle::back_off(runtime.crashes).as_secs();
    let pause = if seconds >= 60 { format!("{}m{}s", seconds / 60, seconds % 60) } else { format!("{seconds}s") };
    format!("back-off {pause} restarting failed container={} pod={}", container.name, pod_reference(pod))
}

/// A pod as the kubelet's messages name it: `name_namespace(uid)`.
pub(crate) fn pod_reference(pod: &Pod) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let meta = &pod.metadata;
    format!("{}_{}({})", part(&meta.name), part(&meta.namespace), part(&meta.uid))
}

/// A name for a container that is the same each time it is asked for, and another after each restart.
fn container_id(pod: &Pod, container: &Container, restarts: i32) -> String {
    let name = format!("{}/{}/{restarts}", pod.metadata.uid.as_deref().unwrap_or_default(), container.name);
    let random = coracle_ambient::Random::from_seed(0).split(&name);
    let hex: String = (0..4).map(|_| format!("{:016x}", random.bits())).collect();
    format!("containerd://{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delays;
    use crate::lifecycle::{Step, next};
    use coracle_meta::parse_time;

    fn pod() -> Pod {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "web", "namespace": "default", "uid": "u", "generation": 3},
            "spec": {"restartPolicy": "Always", "containers": [{"name": "b", "image": "i:1"}, {"name": "a", "image": "i:2"}]},
            "status": {"phase": "Pending", "conditions": [{"type": "Mine", "status": "True"}]},
        }))
        .unwrap()
    }

    /// The pod's status after each step, as the node would write it.
    fn statuses(mut pod: Pod) -> Vec<Pod> {
        let mut now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let (mut runtime, mut pods) = (None, Vec::new());
        for _ in 0..20 {
            match next(&pod, runtime.as_ref(), &Delays::default(), now) {
                Step::Become(mut next) => {
                    if next.stage == PodStage::Sandbox {
                        next.ip = Some("10.1.2.3".to_owned());
                    }
                    pod.status = pod_status(&pod, &next, "192.168.0.1", now);
                    pods.push(pod.clone());
                    runtime = Some(*next);
                }
                Step::Wait(Some(left)) => now += left,
                Step::Wait(None) | Step::Remove => break,
            }
        }
        pods
    }

    fn row(pod: &Pod) -> String {
        let conditions = pod.status.conditions.iter();
        let conditions: Vec<String> = conditions.map(|c| format!("{}={} {}", c.type_, c.status, c.reason)).collect();
        format!("{} {}", pod.status.phase, conditions.join("; "))
    }

    #[test]
    fn conditions_come_in_order_and_foreign_ones_stay_first() {
        let rows: Vec<String> = statuses(pod()).iter().map(row).collect();
        assert_eq!(
            rows[0],
            "Pending Mine=True ; PodReadyToStartContainers=False ; Initialized=True ; Ready=False ContainersNotReady; \
             ContainersReady=False ContainersNotReady; PodScheduled=True "
        );
        assert_eq!(
            *rows.last().unwrap(),
            "Running Mine=True ; PodReadyToStartContainers=True ; Initialized=True ; Ready=True ; ContainersReady=True ; \
             PodScheduled=True "
        );
    }

    #[test]
    fn containers_are_sorted_and_tell_what_they_wait_for_and_since_when_they_run() {
        let pods = statuses(pod());
        let first = &pods[0].status;
        assert_eq!(first.container_statuses.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(first.container_statuses[0].state.waiting.as_ref().unwrap().reason, "ContainerCreating");
        assert_eq!(first.observed_generation, 3);
        let last = &pods.last().unwrap().status;
        assert!(last.container_statuses[1].ready && last.container_statuses[1].state.running.is_some());
        assert!(last.container_statuses[1].container_id.starts_with("containerd://"));
        assert_eq!(last.pod_ips[0].ip, "10.1.2.3");
    }

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_stays() {
        let pods = statuses(pod());
        let time = |pod: &Pod, type_: &str| pod.condition(type_).unwrap().last_transition_time.clone().unwrap();
        let (first, last) = (&pods[0], pods.last().unwrap());
        assert_eq!(time(first, "PodScheduled"), time(last, "PodScheduled"));
        assert_eq!(time(first, "Initialized"), time(last, "Initialized"));
    }

    #[test]
    fn readiness_gates_hold_a_pod_back_whose_containers_are_ready() {
        let mut gated = pod();
        gated.spec.readiness_gates =
            vec![coracle_api::core_v1::PodReadinessGate { condition_type: "x/y".to_owned(), unknown: None }];
        let pods = statuses(gated);
        let ready = pods.last().unwrap().condition("Ready").unwrap().clone();
        assert_eq!(
            (ready.reason.as_str(), ready.message.as_str()),
            ("ReadinessGatesNotReady", "corresponding condition of pod readiness gate \"x/y\" does not exist.")
        );
    }

    #[test]
    fn a_finished_pod_says_how_it_ended() {
        let mut job = pod();
        job.spec.restart_policy = "Never".to_owned();
        job.metadata.annotations.insert("coracle.dev/exit-code".to_owned(), "3".to_owned());
        let last = statuses(job).pop().unwrap();
        assert_eq!(
            row(&last),
            "Failed Mine=True ; PodReadyToStartContainers=False ; Initialized=True ; Ready=False PodFailed; \
             ContainersReady=False PodFailed; PodScheduled=True "
        );
        let state = last.status.container_statuses[0].state.terminated.clone().unwrap();
        assert_eq!((state.exit_code, state.reason.as_str()), (3, "Error"));
    }
}
