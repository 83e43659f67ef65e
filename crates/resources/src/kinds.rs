use std::sync::Arc;

use coracle_registry::{KindSpec, Strategy};
use coracle_schema::Table;

use crate::built_in::built_in;
use crate::config::Config;
use crate::{
    admissionregistration, api_service, apps, autoscaling, batch, certificates, core, events, flowcontrol, lease,
    networking, policy, priority_class, rbac, resource, runtime_class, storage, storagemigration,
};

/// All built-in kinds in all versions, one per line.
pub fn kinds(config: &Config) -> Vec<Arc<dyn Strategy>> {
    let kinds = core_kinds(config).into_iter().chain([
        api_service::kind(),
        apps::controller_revision::kind(),
        apps::daemon_set::kind(),
        apps::deployment::kind(),
        apps::replica_set::kind(),
        apps::stateful_set::kind(),
        events::kind(config),
        built_in("authentication.k8s.io", "v1", "selfsubjectreviews"),
        built_in("authentication.k8s.io", "v1", "tokenreviews"),
        built_in("authorization.k8s.io", "v1", "localsubjectaccessreviews"),
        built_in("authorization.k8s.io", "v1", "selfsubjectaccessreviews"),
        built_in("authorization.k8s.io", "v1", "selfsubjectrulesreviews"),
        built_in("authorization.k8s.io", "v1", "subjectaccessreviews"),
        autoscaling::horizontal_pod_autoscaler::v2(),
        autoscaling::horizontal_pod_autoscaler::v1(),
        batch::cron_job::kind(),
        batch::job::kind(),
        certificates::certificate_signing_request::kind(),
        networking::endpoint_slice::kind(),
        networking::ingress_class::kind(),
        networking::ingress::kind(),
        networking::ip_address::kind(),
        networking::network_policy::kind(),
        networking::service_cidr::kind(),
        policy::pod_disruption_budget::kind(),
        rbac::cluster_role_binding::kind(),
        rbac::cluster_role::kind(),
        rbac::role_binding::kind(),
        rbac::role::kind(),
        storage::csi_driver::kind(),
        storage::csi_node::kind(),
        storage::csi_storage_capacity::kind(),
        storage::storage_class::kind(),
        storage::volume_attachment::kind(),
        storage::volume_attributes_class::kind(),
        admissionregistration::mutating_webhook_configuration::kind(),
        admissionregistration::validating_admission_policy::kind(),
        admissionregistration::validating_admission_policy_binding::kind(),
        admissionregistration::validating_webhook_configuration::kind(),
        coracle_registry::custom::definitions(),
        lease::kind(),
        runtime_class::kind(),
        priority_class::kind(),
        resource::device_class::kind(),
        resource::resource_claim::kind(),
        resource::resource_claim_template::kind(),
        resource::resource_slice::kind(),
        flowcontrol::flow_schema::kind(),
        flowcontrol::priority_level_configuration::kind(),
    ]);
    kinds.chain(later_kinds()).map(|kind| Arc::new(kind) as Arc<dyn Strategy>).collect()
}

/// A group, a plural, and the kind.
type LaterKind = (&'static str, &'static str, fn() -> KindSpec);

/// The kinds that not every release has: those of which the table has a row.
fn later_kinds() -> Vec<KindSpec> {
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const LATER: [LaterKind; 6] = [
        (ADMISSION, "mutatingadmissionpolicies", admissionregistration::mutating_admission_policy::kind),
        (ADMISSION, "mutatingadmissionpolicybindings", admissionregistration::mutating_admission_policy_binding::kind),
        ("certificates.k8s.io", "clustertrustbundles", certificates::cluster_trust_bundle::kind),
        ("certificates.k8s.io", "podcertificaterequests", certificates::pod_certificate_request::kind),
        ("resource.k8s.io", "devicetaintrules", resource::device_taint_rule::kind),
        ("storagemigration.k8s.io", "storageversionmigrations", storagemigration::storage_version_migration::kind),
    ];
    let rows = Table::v1_35().resources();
    let is_listed = |group: &str, plural: &str| {
        rows.iter().any(|row| row.kind.group == group && row.kind.version == "v1" && row.plural == plural)
    };
    LATER.into_iter().filter(|(group, plural, _)| is_listed(group, plural)).map(|(_, _, kind)| kind()).collect()
}

fn core_kinds(config: &Config) -> Vec<KindSpec> {
    vec![
        core::binding::kind(),
        core::component_status::kind(),
        core::config_map::kind(),
        core::endpoints::kind(),
        core::event::kind(config),
        core::limit_range::kind(),
        core::namespace::kind(),
        core::node::kind(),
        core::persistent_volume_claim::kind(),
        core::persistent_volume::kind(),
        core::pod::kind(),
        core::pod_template::kind(),
        core::replication_controller::kind(),
        core::resource_quota::kind(),
        core::secret::kind(),
        core::service_account::kind(),
        core::service::kind(config),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coracle_registry::Subresource;

    use super::*;

    #[test]
    fn every_resource_of_the_table_has_one_kind() {
        let kinds = kinds(&Config::default());
        let listed: Vec<_> = kinds.iter().map(|kind| kind.spec().row.resource()).collect();
        let unique: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len());
        let table: BTreeSet<_> = Table::v1_35().resources().iter().map(|row| row.resource()).collect();
        assert_eq!(unique, table);
    }

    #[test]
    fn every_subresource_of_the_table_is_served_or_left_to_others() {
        // The status of all kinds is the registry's, tokens are the authenticator's.
        let elsewhere = ["status", "token"];
        for kind in kinds(&Config::default()) {
            let served: BTreeSet<&str> = kind.spec().subresources.iter().map(Subresource::name).collect();
            let listed = kind.spec().row.subresources.iter().map(|row| row.name.as_str());
            let listed: BTreeSet<&str> = listed.filter(|name| !elsewhere.contains(name)).collect();
            assert_eq!(served, listed, "{}", kind.spec().row.plural);
        }
    }
}
