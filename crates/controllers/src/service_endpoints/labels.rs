use coracle_api::core_v1::Service;

/// The Service that a slice belongs to.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The controller that manages a slice.
pub(crate) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The Service has no cluster IP.
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";
/// The time of the event that triggered the last change.
pub(crate) const LAST_CHANGE_TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Marks Endpoints that are used as a leader election lock.
pub(crate) const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// The longest prefix to which a generated name can be appended.
const LONGEST_PREFIX: usize = 253;

/// Whether a Service has a cluster IP.
pub(crate) fn has_cluster_ip(service: &Service) -> bool {
    !matches!(service.spec.cluster_ip.as_str(), "" | "None")
}

/// Whether controllers manage the endpoints of a Service.
pub(crate) fn is_filled(service: &Service) -> bool {
    service.spec.type_ != "ExternalName" && !service.spec.selector.is_empty()
}

/// The prefix of the names of slices, with a dash if there is room for one.
pub(crate) fn slice_prefix(service: &str) -> String {
    if service.len() < LONGEST_PREFIX { format!("{service}-") } else { service.to_owned() }
}
