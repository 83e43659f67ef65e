use coracle_controller_runtime::Process;
use futures_util::future::BoxFuture;

use crate::Config;
use crate::names::component_name;

/// A controller: its name in `--controllers`, and its start function. The function registers event handlers and
/// returns the future that runs the controller.
pub(crate) type ListedController = (&'static str, fn(&Process, &Config) -> BoxFuture<'static, ()>);

/// All controllers. A new controller needs a folder, a line here, and a `name` instead of `missing` in `names.rs`.
pub(crate) const CONTROLLERS: &[ListedController] = &[
    ("certificatesigningrequest-approving-controller", crate::certificates::approving),
    ("certificatesigningrequest-cleaner-controller", crate::certificates::cleaning),
    ("certificatesigningrequest-signing-controller", crate::certificates::signing),
    ("clusterrole-aggregation-controller", crate::cluster_role_aggregation::start),
    ("cronjob-controller", crate::cronjob::start),
    ("daemonset-controller", crate::daemonset::start),
    ("deployment-controller", crate::deployment::deployments),
    ("device-taint-eviction-controller", crate::device_taint_eviction::start),
    ("disruption-controller", crate::disruption::start),
    ("endpoints-controller", crate::endpoints::start),
    ("endpointslice-controller", crate::endpoint_slice::start),
    ("endpointslice-mirroring-controller", crate::endpoint_slice_mirroring::start),
    ("ephemeral-volume-controller", crate::ephemeral_volume::start),
    ("garbage-collector-controller", crate::garbage_collector::start),
    ("job-controller", crate::job::start),
    ("horizontal-pod-autoscaler-controller", crate::horizontal_pod_autoscaler::start),
    ("kube-apiserver-serving-clustertrustbundle-publisher-controller", crate::cluster_trust_bundle_publisher::start),
    ("legacy-serviceaccount-token-cleaner-controller", crate::legacy_token_cleaner::start),
    ("namespace-controller", crate::namespace::start),
    ("node-ipam-controller", crate::node_ipam::start),
    ("node-lifecycle-controller", crate::node_lifecycle::start),
    ("persistentvolume-attach-detach-controller", crate::persistent_volume_attach_detach::start),
    ("persistentvolume-binder-controller", crate::persistent_volume::start),
    ("persistentvolume-expander-controller", crate::persistent_volume_expander::start),
    ("persistentvolume-protection-controller", crate::persistent_volume_protection::start),
    ("persistentvolumeclaim-protection-controller", crate::persistent_volume_claim_protection::start),
    ("pod-garbage-collector-controller", crate::pod_gc::start),
    ("podcertificaterequest-cleaner-controller", crate::certificates::cleaning_pod_certificates),
    ("podcertificaterequest-signing-controller", crate::certificates::pod_certificate_signing),
    ("replicaset-controller", crate::replicaset::replica_sets),
    ("replicationcontroller-controller", crate::replicaset::replication_controllers),
    ("resourceclaim-controller", crate::resource_claim::start),
    ("resourcequota-controller", crate::resource_quota::start),
    ("root-ca-certificate-publisher-controller", crate::root_ca::start),
    ("service-cidr-controller", crate::service_cidr::start),
    ("service-lb-controller", crate::service_lb::start),
    ("serviceaccount-controller", crate::service_accounts::start),
    ("serviceaccount-token-controller", crate::service_account_tokens::start),
    ("statefulset-controller", crate::statefulset::start),
    ("storage-version-migrator-controller", crate::storage_version_migrator::start),
    ("taint-eviction-controller", crate::taint_eviction::start),
    ("ttl-after-finished-controller", crate::ttl_after_finished::start),
    ("ttl-controller", crate::node_ttl::start),
    ("validatingadmissionpolicy-status-controller", crate::validating_admission_policy_status::start),
    ("volumeattributesclass-protection-controller", crate::volume_attributes_class_protection::start),
];

/// The controller with this name as a component.
pub(crate) fn entry(component: &str) -> Option<&'static ListedController> {
    CONTROLLERS.iter().find(|(name, _)| component_name(name) == component)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_controllers_that_run_are_the_ones_whose_names_are_marked_as_built() {
        let run: BTreeSet<&str> = CONTROLLERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(run, crate::names().collect());
    }
}
