//! The names of the controllers, as `--controllers` has them.

/// The names of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: &'static str,
    /// Its former name.
    alias: &'static str,
    /// The service account in `kube-system` that it uses; empty for the program's own identity.
    pub(crate) account: &'static str,
    /// Whether it is implemented here.
    pub(crate) is_built: bool,
    /// The feature gate without which it does not run. In Kubernetes: `requiredFeatureGates`.
    pub(crate) gate: Option<&'static str>,
}

const fn name(name: &'static str, alias: &'static str, account: &'static str) -> Name {
    Name { name, alias, account, is_built: true, gate: None }
}

/// The names of a controller that is not implemented here.
const fn missing(name: &'static str, alias: &'static str, account: &'static str) -> Name {
    Name { is_built: false, ..self::name(name, alias, account) }
}

impl Name {
    const fn behind(self, gate: &'static str) -> Self {
        Self { gate: Some(gate), ..self }
    }
}

/// All controllers of all releases, whether or not they are implemented here.
///
/// In Kubernetes: `cmd/kube-controller-manager/names`, the aliases and clients of `cmd/kube-controller-manager/app`.
const NAMES: &[Name] = &[
    missing("bootstrap-signer-controller", "bootstrapsigner", "bootstrap-signer"),
    name("certificatesigningrequest-approving-controller", "csrapproving", "certificate-controller"),
    name("certificatesigningrequest-cleaner-controller", "csrcleaner", "certificate-controller"),
    name("certificatesigningrequest-signing-controller", "csrsigning", "certificate-controller"),
    missing("cloud-node-lifecycle-controller", "cloud-node-lifecycle", "node-controller"),
    name("clusterrole-aggregation-controller", "clusterrole-aggregation", "clusterrole-aggregation-controller"),
    name("cronjob-controller", "cronjob", "cronjob-controller"),
    name("daemonset-controller", "daemonset", "daemon-set-controller"),
    name("deployment-controller", "deployment", "deployment-controller"),
    name("device-taint-eviction-controller", "", "device-taint-eviction-controller").behind("DRADeviceTaints"),
    name("disruption-controller", "disruption", "disruption-controller"),
    name("endpoints-controller", "endpoint", "endpoint-controller"),
    name("endpointslice-controller", "endpointslice", "endpointslice-controller"),
    name("endpointslice-mirroring-controller", "endpointslicemirroring", "endpointslicemirroring-controller"),
    name("ephemeral-volume-controller", "ephemeral-volume", "ephemeral-volume-controller"),
    name("garbage-collector-controller", "garbagecollector", "generic-garbage-collector"),
    name("horizontal-pod-autoscaler-controller", "horizontalpodautoscaling", "horizontal-pod-autoscaler"),
    name("job-controller", "job", "job-controller"),
    name(
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
        "",
        "kube-apiserver-serving-clustertrustbundle-publisher",
    )
    .behind("ClusterTrustBundle"),
    name(
        "legacy-serviceaccount-token-cleaner-controller",
        "legacy-service-account-token-cleaner",
        "legacy-service-account-token-cleaner",
    ),
    name("namespace-controller", "namespace", "namespace-controller"),
    name("node-ipam-controller", "nodeipam", "node-controller"),
    name("node-lifecycle-controller", "nodelifecycle", "node-controller"),
    missing("node-route-controller", "route", "route-controller"),
    name("persistentvolume-attach-detach-controller", "attachdetach", "attachdetach-controller"),
    name("persistentvolume-binder-controller", "persistentvolume-binder", "persistent-volume-binder"),
    name("persistentvolume-expander-controller", "persistentvolume-expander", "expand-controller"),
    name("persistentvolume-protection-controller", "pv-protection", "pv-protection-controller"),
    name("persistentvolumeclaim-protection-controller", "pvc-protection", "pvc-protection-controller"),
    name("pod-garbage-collector-controller", "podgc", "pod-garbage-collector"),
    name("podcertificaterequest-cleaner-controller", "", "podcertificaterequestcleaner")
        .behind("PodCertificateRequest"),
    // Unlike Kubernetes, which has no signer of pod certificates.
    name("podcertificaterequest-signing-controller", "", "podcertificaterequest-signer")
        .behind("PodCertificateRequest"),
    missing("podgroup-protection-controller", "", "podgroup-protection-controller"),
    name("replicaset-controller", "replicaset", "replicaset-controller"),
    name("replicationcontroller-controller", "replicationcontroller", "replication-controller"),
    name("resourceclaim-controller", "resource-claim-controller", "resource-claim-controller"),
    missing("resourcepoolstatusrequest-controller", "", "resourcepoolstatusrequest-controller"),
    name("resourcequota-controller", "resourcequota", "resourcequota-controller"),
    name("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", "root-ca-cert-publisher"),
    missing("selinux-warning-controller", "", "selinux-warning-controller"),
    name("service-cidr-controller", "", "service-cidrs-controller"),
    name("service-lb-controller", "service", "service-controller"),
    name("serviceaccount-controller", "serviceaccount", "service-account-controller"),
    name("serviceaccount-token-controller", "serviceaccount-token", ""),
    name("statefulset-controller", "statefulset", "statefulset-controller"),
    name("storage-version-migrator-controller", "svm", "storage-version-migrator-controller")
        .behind("StorageVersionMigrator"),
    missing("storageversion-garbage-collector-controller", "storage-version-gc", "storage-version-garbage-collector"),
    name("taint-eviction-controller", "", "node-controller"),
    missing("token-cleaner-controller", "tokencleaner", "token-cleaner"),
    name("ttl-after-finished-controller", "ttl-after-finished", "ttl-after-finished-controller"),
    name("ttl-controller", "ttl", "ttl-controller"),
    name("validatingadmissionpolicy-status-controller", "", "validatingadmissionpolicy-status-controller"),
    name("volumeattributesclass-protection-controller", "", "volumeattributesclass-protection-controller"),
];

/// The names of the controllers that are implemented here.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter(|one| one.is_built).map(|one| one.name)
}

/// The names of the controllers that are implemented here, as components: `replicaset` of `replicaset-controller`. A
/// controller has this name in the event log, after `controller-manager/`.
pub fn component_names() -> impl Iterator<Item = &'static str> {
    names().map(component_name)
}

/// The name of a controller as a component.
pub(crate) fn component_name(name: &'static str) -> &'static str {
    name.strip_suffix("-controller").unwrap_or(name)
}

/// The name as a component of the controller with this name or alias, if it is implemented here.
pub fn component_called(word: &str) -> Option<&'static str> {
    find(word).filter(|found| found.is_built).map(|found| component_name(found.name))
}

/// The controller with this name or alias.
pub(crate) fn find(word: &str) -> Option<Name> {
    let is_called = |one: &&Name| one.name == word || !one.alias.is_empty() && one.alias == word;
    NAMES.iter().find(is_called).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_controller_is_found_by_its_names_and_no_two_share_one() {
        let words = NAMES.iter().flat_map(|one| [one.name, one.alias]).filter(|word| !word.is_empty());
        let mut seen = BTreeSet::new();
        for word in words {
            assert!(seen.insert(word), "{word}");
            assert!(find(word).is_some_and(|found| found.name == word || found.alias == word));
        }
        assert_eq!(find("podgc").map(|found| found.name), Some("pod-garbage-collector-controller"));
        assert_eq!(find(""), None);
    }
}
