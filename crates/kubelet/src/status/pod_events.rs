//! The events that a node records about its pods, and the log lines of containers with an unknown program.

use std::borrow::Cow;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Container, ObjectReference, Pod, Probe};
use coracle_controller_runtime::{EventType, reference_to};
use coracle_meta::format_duration;

use crate::eviction::EVICTED;
use crate::images::ImageName;
use crate::node::machine::Line;
use crate::pod::container::{ContainerChange, ContainerPhase, ContainerRuntime, Which};
use crate::pod::container_place::ContainerPlace;
use crate::pod::lifecycle::{PodStage, Runtime};
use crate::pod::pod_context::PodContext;
use crate::pod::waiting_reason::WaitingReason;
use crate::status::pod_status::{pod_reference, pull_error};

/// An event about a container, or about the pod as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodEvent<'r> {
    pub(crate) place: Option<ContainerPlace>,
    pub(crate) event_type: EventType,
    pub(crate) reason: Cow<'r, str>,
    pub(crate) message: String,
}

impl PodEvent<'_> {
    /// The same event, which borrows nothing.
    pub(crate) fn into_owned(self) -> PodEvent<'static> {
        let Self { place, event_type, reason, message } = self;
        PodEvent { place, event_type, reason: Cow::Owned(reason.into_owned()), message }
    }
}

/// The events of a change of one container.
pub(crate) fn container_events(
    pod: &Pod,
    place: ContainerPlace,
    change: &ContainerChange,
    before: Option<&Runtime>,
    after: &Runtime,
    context: &PodContext,
) -> Vec<PodEvent<'static>> {
    let Some(container) = context.container(pod, place) else { return Vec::new() };
    let event = |event_type, reason, message: String| {
        let reason = Cow::Borrowed(reason);
        PodEvent { place: Some(place), event_type, reason, message }
    };
    let normal = |reason, message: String| event(EventType::Normal, reason, message);
    let warning = |reason, message: String| event(EventType::Warning, reason, message);
    let pulled = before.and_then(|before| pulled(container, before.container(place)?, context));
    let mut events = match change {
        ContainerChange::Pulls(_) => vec![normal("Pulling", format!("Pulling image \"{}\"", container.image))],
        ContainerChange::Starts => vec![
            normal("Pulled", pulled.unwrap_or_else(|| already_present(container))),
            normal("Created", "Container created".to_owned()),
            normal("Started", "Container started".to_owned()),
        ],
        ContainerChange::IsHeld(hold) => {
            let lacks = context.lacks.get(&container.name).map_or("", String::as_str);
            let held = waiting_events(*hold, container, lacks, normal, warning);
            let pulled = pulled.filter(|_| *hold != WaitingReason::ErrImagePull);
            pulled.map(|message| normal("Pulled", message)).into_iter().chain(held).collect()
        }
        ContainerChange::Probed(which, false) => {
            let is_killed = after.container(place).is_some_and(|own| own.state != ContainerPhase::Running);
            probe_events(which, container, is_killed, normal, warning)
        }
        ContainerChange::Exits(_) | ContainerChange::Probed(..) | ContainerChange::Readiness(_) => Vec::new(),
    };
    if after.container(place).is_some_and(|own| own.state == ContainerPhase::BackingOff && own.crashes > 1) {
        let message = format!("Back-off restarting failed container {} in pod {}", container.name, pod_reference(pod));
        events.push(warning("BackOff", message));
    }
    events
}

/// The message about the image of a container that the node did not pull.
fn already_present(container: &Container) -> String {
    format!("Container image \"{}\" already present on machine and can be accessed by the pod", container.image)
}

/// The message about the image of a container that the node has pulled, if its pull has just ended.
///
/// In Kubernetes: `pullImage` of `pkg/kubelet/images/image_manager.go`, which truncates to milliseconds.
fn pulled(container: &Container, before: &ContainerRuntime, context: &PodContext) -> Option<String> {
    let ContainerPhase::Pulling { begins, ends } = before.state else { return None };
    let size = context.images.size(&ImageName::of(&container.image)?);
    let [lasted, waited] = [begins, before.since].map(|since| {
        let span = Duration::try_from(ends.duration_since(since)).unwrap_or_default();
        format_duration(Duration::from_millis(span.as_millis().try_into().unwrap_or(u64::MAX)))
    });
    let image = &container.image;
    Some(format!(
        "Successfully pulled image \"{image}\" in {lasted} ({waited} including waiting). Image size: {size} bytes."
    ))
}

/// The events of a container that cannot be created.
fn waiting_events<'r>(
    why: WaitingReason,
    container: &Container,
    lacks: &str,
    normal: impl Fn(&'r str, String) -> PodEvent<'r>,
    warning: impl Fn(&'r str, String) -> PodEvent<'r>,
) -> Vec<PodEvent<'r>> {
    let image = &container.image;
    let (reason, message) = why.words(container, lacks);
    match why {
        WaitingReason::ErrImagePull => vec![
            warning("Failed", format!("Failed to pull image \"{image}\": {}", pull_error(image))),
            warning("Failed", format!("Error: {reason}")),
        ],
        WaitingReason::ImagePullBackOff => vec![
            normal("BackOff", format!("Back-off pulling image \"{image}\"")),
            warning("Failed", format!("Error: {reason}")),
        ],
        WaitingReason::ErrImageNeverPull => {
            vec![warning("ErrImageNeverPull", message), warning("Failed", format!("Error: {reason}"))]
        }
        WaitingReason::InvalidImageName => {
            vec![warning("InspectFailed", message), warning("Failed", format!("Error: {reason}"))]
        }
        WaitingReason::CreateContainerConfigError => vec![warning("Failed", format!("Error: {message}"))],
    }
}

/// The events of a failed probe; `is_killed` if the container does not run any more after it.
fn probe_events<'r>(
    which: &Which,
    container: &Container,
    is_killed: bool,
    normal: impl Fn(&'r str, String) -> PodEvent<'r>,
    warning: impl Fn(&'r str, String) -> PodEvent<'r>,
) -> Vec<PodEvent<'r>> {
    let (name, probe) = match which {
        Which::Startup => ("Startup", container.startup_probe.as_deref()),
        Which::Liveness => ("Liveness", container.liveness_probe.as_deref()),
        Which::Readiness => ("Readiness", container.readiness_probe.as_deref()),
    };
    let mut events = vec![warning("Unhealthy", format!("{name} probe failed: {}", probe.map_or("", output)))];
    if is_killed {
        let word = name.to_lowercase();
        let message = format!("Container {} failed {word} probe, will be restarted", container.name);
        events.push(normal("Killing", message));
    }
    events
}

/// The message of a failed probe.
fn output(probe: &Probe) -> &'static str {
    match probe {
        Probe { http_get: Some(_), .. } => "HTTP probe failed with statuscode: 500",
        Probe { tcp_socket: Some(_), .. } => "dial tcp: connect: connection refused",
        Probe { grpc: Some(_), .. } => "service unhealthy (responded with \"NOT_SERVING\")",
        _ => "",
    }
}

/// The events of a pod that enters a stage.
pub(crate) fn stage_events<'r>(pod: &Pod, after: &'r Runtime, context: &PodContext) -> Vec<PodEvent<'r>> {
    match (after.stage, &after.failure) {
        (PodStage::Stopping, _) => {
            let running = after
                .places()
                .filter(|place| after.container(*place).is_some_and(|own| own.state == ContainerPhase::Running));
            let events = running.filter_map(|place| {
                let message = format!("Stopping container {}", context.container(pod, place)?.name);
                Some(PodEvent { place: Some(place), event_type: EventType::Normal, reason: "Killing".into(), message })
            });
            events.collect()
        }
        (PodStage::Ended, Some((reason, message))) => {
            // The event of an eviction is recorded when the pod is chosen.
            if (reason == EVICTED || after.is_disrupted) && !after.is_refused {
                return Vec::new();
            }
            let event_type = if after.is_refused { EventType::Warning } else { EventType::Normal };
            vec![PodEvent { place: None, event_type, reason: Cow::Borrowed(reason), message: message.clone() }]
        }
        _ => Vec::new(),
    }
}

/// Refers to a container of a pod, or to the pod, in an event.
pub(crate) fn reference(pod: &Pod, place: Option<ContainerPlace>, context: &PodContext) -> ObjectReference {
    let list = match place {
        Some(ContainerPlace::Init(_)) => "initContainers",
        Some(ContainerPlace::Main(_)) => "containers",
        Some(ContainerPlace::Ephemeral(_)) => "ephemeralContainers",
        None => return reference_to(pod),
    };
    let name = place.and_then(|place| context.container(pod, place)).map_or("", |container| container.name.as_str());
    ObjectReference { field_path: format!("spec.{list}{{{name}}}"), ..reference_to(pod) }
}

/// The log line of a container with an unknown program after a change.
pub(crate) fn container_line(
    container: &Container,
    change: &ContainerChange,
    before: &Runtime,
    after: &Runtime,
    place: ContainerPlace,
    now: Timestamp,
) -> Option<Line> {
    let (before, after) = (before.container(place)?, after.container(place)?);
    let ended = after
        .exit
        .as_ref()
        .filter(|_| before.state == ContainerPhase::Running && after.state != ContainerPhase::Running);
    let text = match (change, ended) {
        (_, Some(exit)) => format!("ended with code {}", exit.code),
        (ContainerChange::Starts, None) => "started".to_owned(),
        _ if before.is_ready != after.is_ready => (if after.is_ready { "ready" } else { "not ready" }).to_owned(),
        _ => return None,
    };
    Some(line(container, after.restarts, &text, now))
}

/// The log lines of containers with unknown programs when the pod enters a stage.
pub(crate) fn stage_lines(
    pod: &Pod,
    before: &Runtime,
    after: &Runtime,
    context: &PodContext,
    now: Timestamp,
) -> Vec<Line> {
    let lines = after.places().filter_map(|place| {
        let container = context.container(pod, place)?;
        if context.transcripts.contains_key(&container.name) {
            return None;
        }
        let (own, then) = (before.container(place)?, after.container(place)?);
        let text = match (after.stage, own.state, &then.exit) {
            (PodStage::Stopping, ContainerPhase::Running, _) => "asked to stop".to_owned(),
            (PodStage::Ended, ContainerPhase::Running, Some(exit)) => format!("ended with code {}", exit.code),
            _ => return None,
        };
        Some(line(container, own.restarts, &text, now))
    });
    lines.collect()
}

fn line(container: &Container, restarts: i32, text: &str, at: Timestamp) -> Line {
    let text = format!("{} ({}): {text}", container.name, container.image);
    Line { at, container: container.name.clone(), restarts, text }
}
