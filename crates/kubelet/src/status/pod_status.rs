//! Computes the status of a pod from the node's state.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    HostIP, Pod, PodCondition, PodIP, PodStatus, VolumeMountStatus,
};
use coracle_meta::{format_duration, format_time};

use crate::images::ImageName;
use crate::node::addresses::of_all_families;
use crate::pod::container::{ContainerPhase, ContainerRuntime, Exit, back_off};
use crate::pod::container_place::{ContainerPlace, is_sidecar};
use crate::pod::lifecycle::{PodStage, Runtime};
use crate::pod::pod_context::PodContext;
use crate::pod::resize::PENDING;
use crate::pod::waiting_reason::WaitingReason;

/// The status of a pod on the node with this address. Conditions that the node does not own are kept.
///
/// In Kubernetes: `generateAPIPodStatus` of `pkg/kubelet`.
pub(crate) fn pod_status(
    pod: &Pod,
    runtime: &Runtime,
    context: &PodContext,
    host_ip: &str,
    now: Timestamp,
) -> PodStatus {
    if runtime.is_refused {
        return refused(pod, runtime);
    }
    let host_ips = vec![HostIP { ip: host_ip.to_owned(), unknown: None }];
    let ip = if pod.spec.host_network { Some(host_ip.to_owned()) } else { runtime.ip.clone() };
    let ips = match &ip {
        Some(ip) if !pod.spec.host_network => of_all_families(ip, &context.ranges),
        ip => ip.iter().cloned().collect(),
    };
    let (reason, message) = runtime.failure.clone().unwrap_or_default();
    let builder = StatusBuilder { pod, runtime, context };
    let statuses = |places: &mut dyn Iterator<Item = ContainerPlace>| {
        places.filter_map(|place| builder.container(place)).collect()
    };
    let mut containers: Vec<ContainerStatus> = statuses(&mut (0..runtime.main.len()).map(ContainerPlace::Main));
    containers.sort_by(|a, b| a.name.cmp(&b.name));
    if context.pending_resize.is_some() {
        containers.iter_mut().for_each(|container| keep_given(container, pod));
    }
    PodStatus {
        phase: phase(pod, runtime).to_owned(),
        reason: reason.into_owned(),
        message,
        observed_generation: pod.metadata.generation.unwrap_or(0),
        host_ip: host_ip.to_owned(),
        host_ips,
        pod_ip: ip.clone().unwrap_or_default(),
        pod_ips: ips.into_iter().map(|ip| PodIP { ip, unknown: None }).collect(),
        start_time: Some(pod.status.start_time.clone().unwrap_or_else(|| format_time(runtime.seen))),
        conditions: conditions(pod, runtime, context, now),
        container_statuses: containers,
        init_container_statuses: statuses(&mut (0..runtime.init.len()).map(ContainerPlace::Init)),
        ephemeral_container_statuses: statuses(&mut (0..runtime.ephemeral.len()).map(ContainerPlace::Ephemeral)),
        ..pod.status.clone()
    }
}

/// A container whose resize is pending keeps its resources.
fn keep_given(container: &mut ContainerStatus, pod: &Pod) {
    if let Some(before) = pod.status.container_statuses.iter().find(|before| before.name == container.name) {
        container.allocated_resources.clone_from(&before.allocated_resources);
        container.resources.clone_from(&before.resources);
    }
}

/// The status of a pod that the node rejects. In Kubernetes: `rejectPod`.
fn refused(pod: &Pod, runtime: &Runtime) -> PodStatus {
    let (reason, message) = runtime.failure.clone().unwrap_or_default();
    PodStatus {
        phase: "Failed".to_owned(),
        reason: reason.into_owned(),
        message: format!("Pod was rejected: {message}"),
        observed_generation: pod.metadata.generation.unwrap_or(0),
        start_time: Some(pod.status.start_time.clone().unwrap_or_else(|| format_time(runtime.seen))),
        ..pod.status.clone()
    }
}

/// In Kubernetes: `getPhase`.
fn phase(pod: &Pod, runtime: &Runtime) -> &'static str {
    match &runtime.stage {
        PodStage::Ended if runtime.succeeded() => "Succeeded",
        PodStage::Ended => "Failed",
        // A pod that was stopped before its containers ran was never running.
        PodStage::Stopping if !runtime.main.iter().any(ContainerRuntime::has_run) && pod.status.phase != "Running" => {
            "Pending"
        }
        PodStage::Stopping => "Running",
        PodStage::Starting => "Pending",
        PodStage::Active if !runtime.is_initialized(pod) => "Pending",
        PodStage::Active if runtime.main.iter().any(|own| own.is_waiting() && !own.has_run()) => "Pending",
        PodStage::Active => "Running",
    }
}

/// One condition that the node wants; times and generation are added later.
struct Wanted {
    type_: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

fn wanted(type_: &'static str, holds: bool, reason: &'static str, message: String) -> Wanted {
    Wanted { type_, holds, reason, message }
}

/// The conditions of other components first, then the node's in their order.
fn conditions(pod: &Pod, runtime: &Runtime, context: &PodContext, now: Timestamp) -> Vec<PodCondition> {
    let ended = runtime.stage == PodStage::Ended;
    let finished = if runtime.succeeded() { "PodCompleted" } else { "PodFailed" };
    let unready = runtime.unready(pod);
    let containers = |type_| match (ended, unready.is_empty()) {
        (true, _) => wanted(type_, false, finished, String::new()),
        (_, true) => wanted(type_, true, "", String::new()),
        // Readiness probes keep running while a pod stops, and their results do not change.
        _ if runtime.stage == PodStage::Stopping && pod.is_ready() => wanted(type_, true, "", String::new()),
        _ => {
            let message = format!("containers with unready status: [{}]", unready.join(" "));
            wanted(type_, false, "ContainersNotReady", message)
        }
    };
    let sandbox = !matches!(runtime.stage, PodStage::Starting | PodStage::Ended);
    let disrupted = runtime.failure.as_ref().filter(|_| runtime.is_disrupted);
    let disrupted =
        disrupted.map(|(_, message)| wanted("DisruptionTarget", true, "TerminationByKubelet", message.clone()));
    let held = context.pending_resize.as_ref();
    let pending_resize = held.map(|held| wanted(PENDING, true, held.reason, held.message.clone()));
    let wanted = [
        wanted("PodReadyToStartContainers", sandbox, "", String::new()),
        initialized(pod, runtime),
        with_gates(pod, containers("Ready")),
        containers("ContainersReady"),
        wanted("PodScheduled", true, "", String::new()),
    ];
    let more = || disrupted.iter().chain(&pending_resize);
    let is_own = |type_: &str| type_ == PENDING || wanted.iter().chain(more()).any(|wanted| wanted.type_ == type_);
    let foreign = pod.status.conditions.iter().filter(|condition| !is_own(&condition.type_));
    foreign.cloned().chain(wanted.iter().chain(more()).map(|wanted| stamp(pod, wanted, now))).collect()
}

/// In Kubernetes: `GeneratePodInitializedCondition`.
fn initialized(pod: &Pod, runtime: &Runtime) -> Wanted {
    if runtime.succeeded() {
        return wanted("Initialized", true, "PodCompleted", String::new());
    }
    let is_done = |container: &Container, own: &ContainerRuntime| {
        if is_sidecar(container) {
            own.is_started || own.restarts > 0 || own.is_restarting()
        } else {
            own.has_ended_well()
        }
    };
    let incomplete = pod.spec.init_containers.iter().zip(&runtime.init).filter(|(own, runtime)| !is_done(own, runtime));
    let incomplete: Vec<&str> = incomplete.map(|(container, _)| container.name.as_str()).collect();
    if incomplete.is_empty() || runtime.main.iter().any(ContainerRuntime::has_run) {
        return wanted("Initialized", true, "", String::new());
    }
    let message = format!("containers with incomplete status: [{}]", incomplete.join(" "));
    wanted("Initialized", false, "ContainersNotInitialized", message)
}

/// A pod with readiness gates is ready only if their conditions are true, too.
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

/// Builds the status of the containers of a pod.
struct StatusBuilder<'p> {
    pod: &'p Pod,
    runtime: &'p Runtime,
    context: &'p PodContext,
}

impl StatusBuilder<'_> {
    fn container(&self, place: ContainerPlace) -> Option<ContainerStatus> {
        let (own, container) = (self.runtime.container(place)?, self.context.container(self.pod, place)?);
        let is_running = own.state == ContainerPhase::Running;
        let state = self.state(place, own, container);
        let id = if own.has_run() { self.id(container, own.restarts) } else { String::new() };
        // A container that has ended for good has no earlier termination.
        let last = own.exit.as_ref().filter(|exit| state.terminated.is_none() && exit.started.is_some());
        let before = if own.is_restarting() { own.restarts } else { own.restarts.saturating_sub(1) };
        let is_ready = match (place, own.state) {
            (ContainerPlace::Init(_), ContainerPhase::Ended) => own.has_ended_well(),
            _ if self.runtime.stage == PodStage::Stopping && is_running => self.was_ready(container),
            _ => own.is_ready,
        };
        Some(ContainerStatus {
            last_state: last.map(|exit| self.terminated(container, exit, before)).unwrap_or_default(),
            state,
            ready: is_ready,
            started: (!matches!(place, ContainerPlace::Ephemeral(_))).then_some(is_running && own.is_started),
            restart_count: own.restarts,
            ..created_status(container, id)
        })
    }

    fn was_ready(&self, container: &Container) -> bool {
        let status = &self.pod.status;
        let mut all = status.container_statuses.iter().chain(&status.init_container_statuses);
        all.any(|status| status.name == container.name && status.ready)
    }

    fn state(&self, place: ContainerPlace, own: &ContainerRuntime, container: &Container) -> ContainerState {
        let has_init = !self.pod.spec.init_containers.is_empty();
        match (own.state, &own.exit) {
            (ContainerPhase::Running, _) => {
                let running = ContainerStateRunning { started_at: Some(format_time(own.since)), unknown: None };
                ContainerState { running: Some(Box::new(running)), ..ContainerState::default() }
            }
            _ if own.is_restarting() && own.crashes > 1 => {
                waiting("CrashLoopBackOff", &self.crash_message(container, own.crashes))
            }
            (ContainerPhase::BackingOff | ContainerPhase::Ended | ContainerPhase::Pulling { .. }, Some(exit)) => {
                self.terminated(container, exit, own.restarts)
            }
            (ContainerPhase::Held(hold), _) => self.held(hold, container),
            _ if has_init && !matches!(place, ContainerPlace::Ephemeral(_)) => waiting("PodInitializing", ""),
            _ => waiting("ContainerCreating", ""),
        }
    }

    fn held(&self, hold: WaitingReason, container: &Container) -> ContainerState {
        let (reason, message) =
            hold.words(container, self.context.lacks.get(&container.name).map_or("", String::as_str));
        waiting(reason, &message)
    }

    fn terminated(&self, container: &Container, exit: &Exit, restarts: i32) -> ContainerState {
        let usual = if exit.code == 0 { "Completed" } else { "Error" };
        let terminated = match exit.started {
            Some(started) => ContainerStateTerminated {
                exit_code: exit.code,
                reason: exit.reason.clone().unwrap_or_else(|| usual.to_owned()),
                started_at: Some(format_time(started)),
                finished_at: Some(format_time(exit.at)),
                container_id: self.id(container, restarts),
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

    fn crash_message(&self, container: &Container, crashes: u32) -> String {
        let pause = format_duration(back_off(crashes));
        format!("back-off {pause} restarting failed container={} pod={}", container.name, pod_reference(self.pod))
    }

    /// The id of a container: stable between restarts, and different after each.
    fn id(&self, container: &Container, restarts: i32) -> String {
        let name = format!("{}/{}/{restarts}", self.pod.metadata.uid.as_deref().unwrap_or_default(), container.name);
        let random = coracle_ambient::Random::from_seed(0).split(&name);
        let hex: String = (0..4).map(|_| format!("{:016x}", random.bits())).collect();
        format!("containerd://{hex}")
    }
}

impl WaitingReason {
    /// The reason and the message of a container that cannot be created.
    pub(crate) fn words(self, container: &Container, lacks: &str) -> (&'static str, String) {
        let image = &container.image;
        match self {
            Self::ErrImagePull => ("ErrImagePull", pull_error(image)),
            Self::ImagePullBackOff => {
                ("ImagePullBackOff", format!("Back-off pulling image \"{image}\": ErrImagePull: {}", pull_error(image)))
            }
            Self::ErrImageNeverPull => {
                ("ErrImageNeverPull", format!("Container image \"{image}\" is not present with pull policy of Never"))
            }
            Self::InvalidImageName => {
                let why = "invalid reference format";
                (
                    "InvalidImageName",
                    format!(
                        "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": {why}"
                    ),
                )
            }
            Self::CreateContainerConfigError => ("CreateContainerConfigError", lacks.to_owned()),
        }
    }
}

/// The runtime's error for an image that does not exist, as it passes through the CRI: `PullImage` of
/// `k8s.io/cri-client/pkg/remote_image.go` keeps the code of an error unless the code is unknown. In containerd:
/// `Client.Pull`.
pub(crate) fn pull_error(image: &str) -> String {
    let full = ImageName::of(image).map_or_else(|| image.to_owned(), |name| name.to_string());
    let cri = "rpc error: code = NotFound desc = ";
    format!(
        "{cri}failed to pull and unpack image \"{full}\": failed to resolve reference \"{full}\": {full}: not found"
    )
}

/// The part of a container's status that describes its image; `id` is empty before the container is created.
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
                ..VolumeMountStatus::default()
            })
            .collect(),
        ..ContainerStatus::default()
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: reason.to_owned(), message: message.to_owned(), unknown: None };
    ContainerState { waiting: Some(Box::new(waiting)), ..ContainerState::default() }
}

/// A pod in the kubelet's messages: `name_namespace(uid)`.
pub(crate) fn pod_reference(pod: &Pod) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let meta = &pod.metadata;
    format!("{}_{}({})", part(&meta.name), part(&meta.namespace), part(&meta.uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delays;
    use crate::pod::lifecycle::{PodStep, next};
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
        for _ in 0..40 {
            let context = PodContext::of(&pod);
            match next(&pod, runtime.as_ref(), &context, &Delays::default(), now) {
                PodStep::Become(mut next) | PodStep::Changed(_, _, mut next) => {
                    if next.stage == PodStage::Active {
                        next.ip = Some("10.1.2.3".to_owned());
                    }
                    pod.status = pod_status(&pod, &next, &context, "192.168.0.1", now);
                    pods.push(pod.clone());
                    runtime = Some(*next);
                }
                PodStep::Wait(Some(left)) => now += left,
                PodStep::Wait(None) | PodStep::Remove => break,
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
    fn container_statuses_are_sorted_with_waiting_reasons_and_start_times() {
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

    #[test]
    fn waiting_reasons_of_containers_are_reported() {
        let mut held = pod();
        held.spec.containers.truncate(1);
        held.metadata.annotations.insert("coracle.dev/image".to_owned(), "missing".to_owned());
        let pods = statuses(held);
        let waiting = |pod: &Pod| {
            let state = pod.status.container_statuses[0].state.waiting.clone().unwrap();
            (pod.status.phase.clone(), state.reason)
        };
        let mut reasons: Vec<_> = pods.iter().map(waiting).collect();
        reasons.dedup();
        let builder = |reason: &str| ("Pending".to_owned(), reason.to_owned());
        assert_eq!(reasons[..3], [builder("ContainerCreating"), builder("ErrImagePull"), builder("ImagePullBackOff")]);
    }

    #[test]
    fn a_sidecar_is_reported_as_running() {
        let mut with = pod();
        with.spec.init_containers =
            serde_json::from_value(serde_json::json!([{"name": "s", "image": "i", "restartPolicy": "Always"}]))
                .unwrap();
        let last = statuses(with).pop().unwrap();
        let own = &last.status.init_container_statuses[0];
        assert!(own.state.running.is_some() && own.ready && own.started == Some(true));
        assert_eq!(last.status.phase, "Running");
        assert!(last.is_ready());
    }
}
