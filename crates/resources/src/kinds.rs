use std::sync::Arc;

use coracle_registry::{KindSpec, Strategy};
use coracle_release::Release;
use coracle_schema::Table;

use crate::built_in::built_in;
use crate::column_words::with_words_of_release;
use crate::config::Config;
use crate::{
    admissionregistration, api_service, apps, autoscaling, batch, certificates, core, events, flowcontrol, lease,
    networking, policy, priority_class, rbac, resource, runtime_class, storage, storagemigration,
};

/// All built-in kinds in all versions, one per line.
pub fn kinds(config: &Config) -> Vec<Arc<dyn Strategy>> {
    let release = &config.release;
    let kinds = core_kinds(config).into_iter().chain([
        api_service::kind(release),
        apps::controller_revision::kind(release),
        apps::daemon_set::kind(release),
        apps::deployment::kind(release),
        apps::replica_set::kind(release),
        apps::stateful_set::kind(release),
        events::kind(config),
        built_in(release, "authentication.k8s.io", "v1", "selfsubjectreviews"),
        built_in(release, "authentication.k8s.io", "v1", "tokenreviews"),
        built_in(release, "authorization.k8s.io", "v1", "localsubjectaccessreviews"),
        built_in(release, "authorization.k8s.io", "v1", "selfsubjectaccessreviews"),
        built_in(release, "authorization.k8s.io", "v1", "selfsubjectrulesreviews"),
        built_in(release, "authorization.k8s.io", "v1", "subjectaccessreviews"),
        autoscaling::horizontal_pod_autoscaler::v2(release),
        autoscaling::horizontal_pod_autoscaler::v1(release),
        batch::cron_job::kind(release),
        batch::job::kind(release),
        certificates::certificate_signing_request::kind(release),
        networking::endpoint_slice::kind(release),
        networking::ingress_class::kind(release),
        networking::ingress::kind(release),
        networking::ip_address::kind(release),
        networking::network_policy::kind(release),
        networking::service_cidr::kind(release),
        policy::pod_disruption_budget::kind(release),
        rbac::cluster_role_binding::kind(release),
        rbac::cluster_role::kind(release),
        rbac::role_binding::kind(release),
        rbac::role::kind(release),
        storage::csi_driver::kind(release),
        storage::csi_node::kind(release),
        storage::csi_storage_capacity::kind(release),
        storage::storage_class::kind(release),
        storage::volume_attachment::kind(release),
        storage::volume_attributes_class::kind(release),
        admissionregistration::mutating_webhook_configuration::kind(release),
        admissionregistration::validating_admission_policy::kind(release),
        admissionregistration::validating_admission_policy_binding::kind(release),
        admissionregistration::validating_webhook_configuration::kind(release),
        coracle_registry::custom::definitions(release),
        lease::kind(release),
        runtime_class::kind(release),
        priority_class::kind(release),
        resource::device_class::kind(release),
        resource::resource_claim::kind(release),
        resource::resource_claim_template::kind(release),
        resource::resource_slice::kind(release),
        flowcontrol::flow_schema::kind(release),
        flowcontrol::priority_level_configuration::kind(release),
    ]);
    kinds
        .chain(later_kinds(release))
        .map(|kind| Arc::new(with_words_of_release(kind, release)) as Arc<dyn Strategy>)
        .collect()
}

/// A group, a plural, and the kind.
type LaterKind = (&'static str, &'static str, fn(&Release) -> KindSpec);

/// The kinds that not every release has: those of which the table has a row.
fn later_kinds(release: &Release) -> Vec<KindSpec> {
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const LATER: [LaterKind; 6] = [
        (ADMISSION, "mutatingadmissionpolicies", admissionregistration::mutating_admission_policy::kind),
        (ADMISSION, "mutatingadmissionpolicybindings", admissionregistration::mutating_admission_policy_binding::kind),
        ("certificates.k8s.io", "clustertrustbundles", certificates::cluster_trust_bundle::kind),
        ("certificates.k8s.io", "podcertificaterequests", certificates::pod_certificate_request::kind),
        ("resource.k8s.io", "devicetaintrules", resource::device_taint_rule::kind),
        ("storagemigration.k8s.io", "storageversionmigrations", storagemigration::storage_version_migration::kind),
    ];
    let rows = Table::of(release).resources();
    let is_listed = |group: &str, plural: &str| {
        rows.iter().any(|row| row.kind.group == group && row.kind.version == "v1" && row.plural == plural)
    };
    LATER.into_iter().filter(|(group, plural, _)| is_listed(group, plural)).map(|(_, _, kind)| kind(release)).collect()
}

fn core_kinds(config: &Config) -> Vec<KindSpec> {
    let release = &config.release;
    vec![
        core::binding::kind(release),
        core::component_status::kind(release),
        core::config_map::kind(release),
        core::endpoints::kind(release),
        core::event::kind(config),
        core::limit_range::kind(release),
        core::namespace::kind(release),
        core::node::kind(release),
        core::persistent_volume_claim::kind(release),
        core::persistent_volume::kind(release),
        core::pod::kind(release),
        core::pod_template::kind(release),
        core::replication_controller::kind(release),
        core::resource_quota::kind(release),
        core::secret::kind(release),
        core::service_account::kind(release),
        core::service::kind(config),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coracle_registry::Subresource;
    use coracle_release::Release;
    use coracle_schema::Table;

    use super::*;

    #[test]
    fn every_resource_of_the_table_has_one_kind() {
        let kinds = kinds(&Config::default());
        let listed: Vec<_> = kinds.iter().map(|kind| kind.spec().row.resource()).collect();
        let unique: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len());
        let table: BTreeSet<_> = Table::of(&Release::default()).resources().iter().map(|row| row.resource()).collect();
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
