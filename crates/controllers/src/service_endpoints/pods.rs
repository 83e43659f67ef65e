use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::core_v1::{Container, ObjectReference, Pod, Service, ServicePort};
use coracle_informer::{Lister, Notification};
use coracle_meta::{IntOrString, LabelSelector, ObjectKey, Resource};

use super::labels::is_filled;
use crate::selecting::Selecting;

/// Which pods are behind a Service.
pub(crate) fn pod_selector(service: &Service) -> LabelSelector {
    if is_filled(service) { LabelSelector::of_labels(&service.spec.selector) } else { LabelSelector::nothing() }
}

/// The pods behind a Service.
pub(crate) fn chosen_pods(pods: &Lister<Pod>, service: &Service) -> Vec<Arc<Pod>> {
    let selector = pod_selector(service);
    let mut pods = pods.list_namespace(service.metadata.namespace.as_deref().unwrap_or_default());
    pods.retain(|pod| selector.matches(&pod.metadata.labels));
    pods
}

/// Whether a pod may be an endpoint at all. In Kubernetes: `ShouldPodBeInEndpoints`.
pub(crate) fn belongs(pod: &Pod, with_terminating: bool) -> bool {
    let has_address = !pod.status.pod_ip.is_empty() || !pod.status.pod_ips.is_empty();
    !pod.is_finished() && has_address && (with_terminating || !pod.is_terminating())
}

/// The reference to the pod of an address.
pub(crate) fn target_of(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: "Pod".to_owned(),
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        uid: pod.uid().to_owned(),
        ..ObjectReference::default()
    }
}

/// Whether the pod's host name resolves in the domain of the Service.
pub(crate) fn has_host_name(pod: &Pod, service: &Service) -> bool {
    let is_domain = Some(&pod.spec.subdomain) == service.metadata.name.as_ref();
    !pod.spec.hostname.is_empty() && is_domain && service.metadata.namespace == pod.metadata.namespace
}

/// The pod's port for a port of a Service. A name is searched in containers, then in sidecars.
pub(crate) fn find_port(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let name = match port.target_port.as_ref()? {
        IntOrString::Int(number) => return Some(*number),
        IntOrString::String(name) => name,
    };
    let is_sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let containers = pod.spec.containers.iter().chain(pod.spec.init_containers.iter().filter(is_sidecar));
    let mut ports = containers.flat_map(|container| &container.ports);
    ports.find(|known| known.name == *name && known.protocol == port.protocol).map(|known| known.container_port)
}

/// The Services whose endpoints a change of a pod may affect.
///
/// In Kubernetes: `GetPodUpdateProjectionKey` and `GetServicesToUpdate`.
pub(crate) fn concerned_services(selecting: &Selecting, notification: &Notification<Pod>) -> Vec<ObjectKey> {
    let chosen =
        |pod: &Pod| selecting.matching(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.labels);
    let (old, new) = match notification {
        Notification::Added { object, .. } | Notification::Deleted { object, .. } => return chosen(object),
        Notification::Updated { old, new } => (old, new),
    };
    let moved = old.metadata.labels != new.metadata.labels
        || (&old.spec.hostname, &old.spec.subdomain) != (&new.spec.hostname, &new.spec.subdomain);
    // Any change of a terminating pod may be its termination.
    let changed = new.is_terminating()
        || old.is_ready() != new.is_ready()
        || old.status.pod_ips.len() != new.status.pod_ips.len()
        || old.status.pod_ips.iter().zip(&new.status.pod_ips).any(|(old, new)| old.ip != new.ip);
    match (changed, moved) {
        (false, false) => Vec::new(),
        (true, false) => chosen(new),
        (changed, true) => {
            let (before, after): (BTreeSet<_>, BTreeSet<_>) =
                (chosen(old).into_iter().collect(), chosen(new).into_iter().collect());
            if changed { &before | &after } else { &before ^ &after }.into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::ContainerPort;

    #[test]
    fn a_named_port_is_found_in_containers_and_sidecars_by_name_and_protocol() {
        let mut pod = Pod::default();
        let container = |port: i32, protocol: &str| Container {
            ports: vec![ContainerPort {
                name: "web".to_owned(),
                container_port: port,
                protocol: protocol.to_owned(),
                ..ContainerPort::default()
            }],
            ..Container::default()
        };
        pod.spec.containers = vec![container(1, "UDP")];
        pod.spec.init_containers = vec![container(2, "TCP")];
        let port = |target| ServicePort { target_port: target, protocol: "TCP".to_owned(), ..ServicePort::default() };
        assert_eq!(find_port(&pod, &port(Some("web".into()))), None, "an init container ends before the pod serves");
        pod.spec.init_containers[0].restart_policy = Some("Always".to_owned());
        assert_eq!(find_port(&pod, &port(Some("web".into()))), Some(2));
        assert_eq!(find_port(&pod, &port(Some(7.into()))), Some(7));
    }

    #[test]
    fn a_pod_with_an_address_belongs_until_it_has_finished() {
        let mut pod = Pod::default();
        assert!(!belongs(&pod, true));
        pod.status.pod_ip = "10.0.0.1".to_owned();
        assert!(belongs(&pod, false));
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert!(belongs(&pod, true) && !belongs(&pod, false));
        pod.status.phase = "Succeeded".to_owned();
        assert!(!belongs(&pod, true));
    }
}
