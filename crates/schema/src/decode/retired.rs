//! Versions that Kubernetes no longer serves, and still knows when it reads bodies.

use coracle_meta::GroupVersionKind;

/// The retired versions, and the kinds of theirs that live on in a newer version of the group.
const RETIRED: [(&str, &[&str], &[&str]); 14] = [
    ("apps", &["v1beta1"], &["ControllerRevision", "Deployment", "StatefulSet"]),
    ("apps", &["v1beta2"], &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["v2beta1", "v2beta2"], &["HorizontalPodAutoscaler"]),
    ("batch", &["v1beta1"], &["CronJob"]),
    ("certificates.k8s.io", &["v1beta1"], &["CertificateSigningRequest"]),
    ("coordination.k8s.io", &["v1beta1"], &["Lease"]),
    ("discovery.k8s.io", &["v1beta1"], &["EndpointSlice"]),
    ("events.k8s.io", &["v1beta1"], &["Event"]),
    ("flowcontrol.apiserver.k8s.io", &["v1beta1", "v1beta2", "v1beta3"], &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["v1beta1"], &["Ingress", "IngressClass", "IPAddress", "ServiceCIDR"]),
    ("policy", &["v1beta1"], &["PodDisruptionBudget"]),
    (
        "rbac.authorization.k8s.io",
        &["v1alpha1", "v1beta1"],
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    ("scheduling.k8s.io", &["v1alpha1", "v1beta1"], &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["v1alpha1", "v1beta1"],
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
];

/// Whether a kind is known in a version that is not served.
pub(super) fn is_registered(kind: &GroupVersionKind) -> bool {
    RETIRED.iter().any(|(group, versions, kinds)| {
        *group == kind.group && versions.contains(&kind.version.as_str()) && kinds.contains(&kind.kind.as_str())
    })
}
