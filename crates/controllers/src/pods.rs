//! Properties of pods that several controllers use.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Pod, PodTemplateSpec};
use coracle_controller_runtime::ReconcileError;
use coracle_controller_runtime::ownership::controller_reference;
use coracle_meta::{Resource, parse_time};
use jiff::SignedDuration;

/// Whether a pod has been ready for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// It is not ready.
    NotReady,
    /// It is ready, and will be available after this long if it stays so.
    In(SignedDuration),
    /// It is available.
    Available,
}

impl Availability {
    /// How long until it is available, if it is ready and not available yet.
    pub(crate) fn left(self) -> Option<SignedDuration> {
        match self {
            Self::In(left) => Some(left),
            Self::NotReady | Self::Available => None,
        }
    }
}

/// Since when the pod has been ready; `None` if it is not.
pub(crate) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = pod.condition("Ready").filter(|condition| condition.status == "True")?;
    ready.last_transition_time.as_deref().and_then(parse_time)
}

/// When the pod's readiness last changed.
pub(crate) fn ready_changed(pod: &Pod) -> Option<Timestamp> {
    pod.condition("Ready")?.last_transition_time.as_deref().and_then(parse_time)
}

/// In Kubernetes: `podutil.IsPodAvailable`.
pub(crate) fn availability(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> Availability {
    if !pod.is_ready() {
        return Availability::NotReady;
    }
    if min_ready_seconds == 0 {
        return Availability::Available;
    }
    let Some(since) = ready_since(pod) else { return Availability::NotReady };
    let left = SignedDuration::from_secs(i64::from(min_ready_seconds)).saturating_sub(now.duration_since(since));
    if left.is_positive() { Availability::In(left) } else { Availability::Available }
}

/// The most restarts of any container, and of any sidecar. In Kubernetes: `compareMaxContainerRestarts`.
pub(crate) fn max_restarts(pod: &Pod) -> (i32, i32) {
    let most = |statuses: &[coracle_api::core_v1::ContainerStatus], counts: &dyn Fn(&str) -> bool| {
        statuses.iter().filter(|status| counts(&status.name)).map(|status| status.restart_count).max().unwrap_or(0)
    };
    let is_sidecar = |name: &str| {
        let container = pod.spec.init_containers.iter().find(|container| container.name == name);
        container.is_some_and(|container| container.restart_policy.as_deref() == Some("Always"))
    };
    (most(&pod.status.container_statuses, &|_| true), most(&pod.status.init_container_statuses, &is_sidecar))
}

/// A pod from a template, controlled by `owner`; the API server completes its name.
///
/// In Kubernetes: `controller.GetPodFromTemplate`.
pub(crate) fn new_pod<K: Resource>(owner: &K, template: &PodTemplateSpec) -> Result<Pod, ReconcileError> {
    if template.metadata.labels.is_empty() {
        return Err(ReconcileError::Object("unable to create pods, no labels".to_owned()));
    }
    let meta = owner.meta();
    let name = meta.name.as_deref().unwrap_or_default();
    let mut pod = Pod { spec: template.spec.clone(), ..Pod::default() };
    pod.metadata.namespace.clone_from(&meta.namespace);
    pod.metadata.generate_name = Some(format!("{name}-"));
    pod.metadata.labels.clone_from(&template.metadata.labels);
    pod.metadata.annotations.clone_from(&template.metadata.annotations);
    pod.metadata.finalizers.clone_from(&template.metadata.finalizers);
    pod.metadata.owner_references = vec![controller_reference(owner)];
    Ok(pod)
}
