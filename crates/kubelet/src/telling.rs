//! The events that a node writes about its pods, and the lines that containers without a known program say.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Container, ObjectReference, Pod, Probe};
use coracle_controller_runtime::{EventType, reference_to};

use crate::container::{Change, State, Which};
use crate::eviction::EVICTED;
use crate::hold::Hold;
use crate::lifecycle::{PodStage, Runtime};
use crate::machine::Line;
use crate::place::Place;
use crate::status::{pod_reference, pull_error};
use crate::surroundings::Surroundings;

/// An event about a container, or about the pod as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told<'r> {
    pub(crate) place: Option<Place>,
    pub(crate) event_type: EventType,
    pub(crate) reason: &'r str,
    pub(crate) message: String,
}

/// What is told of a change of one container.
pub(crate) fn of_change(
    pod: &Pod,
    place: Place,
    change: &Change,
    after: &Runtime,
    around: &Surroundings,
) -> Vec<Told<'static>> {
    let Some(container) = around.container(pod, place) else { return Vec::new() };
    let tell = |event_type, reason, message: String| Told { place: Some(place), event_type, reason, message };
    let normal = |reason, message: String| tell(EventType::Normal, reason, message);
    let warning = |reason, message: String| tell(EventType::Warning, reason, message);
    let image = &container.image;
    let backs_off = after.container(place).filter(|own| own.state == State::BackingOff && own.crashes > 1).map(|_| {
        let message = format!("Back-off restarting failed container {} in pod {}", container.name, pod_reference(pod));
        warning("BackOff", message)
    });
    let mut told = match change {
        Change::Starts => vec![
            normal(
                "Pulled",
                format!("Container image \"{image}\" already present on machine and can be accessed by the pod"),
            ),
            normal("Created", "Container created".to_owned()),
            normal("Started", "Container started".to_owned()),
        ],
        Change::IsHeld(hold) => {
            let lacks = around.lacks.get(&container.name).map_or("", String::as_str);
            let (reason, message) = hold.words(container, lacks);
            match hold {
                Hold::ErrImagePull => vec![
                    normal("Pulling", format!("Pulling image \"{image}\"")),
                    warning("Failed", format!("Failed to pull image \"{image}\": {}", pull_error(image))),
                    warning("Failed", format!("Error: {reason}")),
                ],
                Hold::ImagePullBackOff => vec![
                    normal("BackOff", format!("Back-off pulling image \"{image}\"")),
                    warning("Failed", format!("Error: {reason}")),
                ],
                Hold::ErrImageNeverPull => {
                    vec![warning("ErrImageNeverPull", message), warning("Failed", format!("Error: {reason}"))]
                }
                Hold::InvalidImageName => {
                    vec![warning("InspectFailed", message), warning("Failed", format!("Error: {reason}"))]
                }
                Hold::CreateContainerConfigError => vec![warning("Failed", format!("Error: {message}"))],
            }
        }
        Change::Probed(which, false) => {
            let (name, probe) = match which {
                Which::Startup => ("Startup", container.startup_probe.as_deref()),
                Which::Liveness => ("Liveness", container.liveness_probe.as_deref()),
                Which::Readiness => ("Readiness", container.readiness_probe.as_deref()),
            };
            let mut told = vec![warning("Unhealthy", format!("{name} probe failed: {}", probe.map_or("", output)))];
            if after.container(place).is_some_and(|own| own.state != State::Running) {
                let word = name.to_lowercase();
                let message = format!("Container {} failed {word} probe, will be restarted", container.name);
                told.push(normal("Killing", message));
            }
            told
        }
        Change::Exits(_) | Change::Probed(..) | Change::Readiness(_) => Vec::new(),
    };
    told.extend(backs_off);
    told
}

/// What is said by what a probe asks, and is refused by.
fn output(probe: &Probe) -> &'static str {
    match probe {
        Probe { http_get: Some(_), .. } => "HTTP probe failed with statuscode: 500",
        Probe { tcp_socket: Some(_), .. } => "dial tcp: connect: connection refused",
        Probe { grpc: Some(_), .. } => "service unhealthy (responded with \"NOT_SERVING\")",
        _ => "",
    }
}

/// What is told of a pod that has come to another stage.
pub(crate) fn of_stage<'r>(pod: &Pod, after: &'r Runtime, around: &Surroundings) -> Vec<Told<'r>> {
    match (after.stage, &after.failure) {
        (PodStage::Stopping, _) => {
            let running =
                after.places().filter(|place| after.container(*place).is_some_and(|own| own.state == State::Running));
            let told = running.filter_map(|place| {
                let message = format!("Stopping container {}", around.container(pod, place)?.name);
                Some(Told { place: Some(place), event_type: EventType::Normal, reason: "Killing", message })
            });
            told.collect()
        }
        (PodStage::Ended, Some((reason, message))) => {
            // Who is evicted is told so when it is chosen.
            if (reason == EVICTED || after.is_disrupted) && !after.is_refused {
                return Vec::new();
            }
            let event_type = if after.is_refused { EventType::Warning } else { EventType::Normal };
            vec![Told { place: None, event_type, reason, message: message.clone() }]
        }
        _ => Vec::new(),
    }
}

/// Names a container of a pod in an event, or the pod.
pub(crate) fn about(pod: &Pod, place: Option<Place>, around: &Surroundings) -> ObjectReference {
    let list = match place {
        Some(Place::Init(_)) => "initContainers",
        Some(Place::Main(_)) => "containers",
        Some(Place::Ephemeral(_)) => "ephemeralContainers",
        None => return reference_to(pod),
    };
    let name = place.and_then(|place| around.container(pod, place)).map_or("", |container| container.name.as_str());
    ObjectReference { field_path: format!("spec.{list}{{{name}}}"), ..reference_to(pod) }
}

/// What a container whose program is not known says at a change.
pub(crate) fn line_of_change(
    container: &Container,
    change: &Change,
    before: &Runtime,
    after: &Runtime,
    place: Place,
    now: Timestamp,
) -> Option<Line> {
    let (before, after) = (before.container(place)?, after.container(place)?);
    let ended = after.exit.as_ref().filter(|_| before.state == State::Running && after.state != State::Running);
    let text = match (change, ended) {
        (_, Some(exit)) => format!("ended with code {}", exit.code),
        (Change::Starts, None) => "started".to_owned(),
        _ if before.is_ready != after.is_ready => (if after.is_ready { "ready" } else { "not ready" }).to_owned(),
        _ => return None,
    };
    Some(line(container, after.restarts, &text, now))
}

/// What the containers whose programs are not known say when the pod comes to another stage.
pub(crate) fn lines_of_stage(
    pod: &Pod,
    before: &Runtime,
    after: &Runtime,
    around: &Surroundings,
    now: Timestamp,
) -> Vec<Line> {
    let lines = after.places().filter_map(|place| {
        let container = around.container(pod, place)?;
        if around.transcripts.contains_key(&container.name) {
            return None;
        }
        let (own, then) = (before.container(place)?, after.container(place)?);
        let text = match (after.stage, own.state, &then.exit) {
            (PodStage::Stopping, State::Running, _) => "asked to stop".to_owned(),
            (PodStage::Ended, State::Running, Some(exit)) => format!("ended with code {}", exit.code),
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
