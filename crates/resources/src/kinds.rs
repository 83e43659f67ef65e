use std::sync::Arc;

use coracle_registry::{Scale, SelectorForm, Strategy, Subresource};

use crate::admissionregistration as admission;
use crate::api_service::API_SERVICE;
use crate::apps::{
    controller_revision::CONTROLLER_REVISION, daemon_set::DAEMON_SET, deployment::DEPLOYMENT, replica_set::REPLICA_SET,
    stateful_set::STATEFUL_SET,
};
use crate::autoscaling::{self, horizontal_pod_autoscaler as hpa};
use crate::batch::{cron_job::CRON_JOB, job::JOB};
use crate::built_in::BuiltIn;
use crate::certificate_signing_request::{Approval, CERTIFICATE_SIGNING_REQUEST};
use crate::cidr::Cidr;
use crate::core::{
    component_status::{COMPONENT_STATUS, ComponentStatuses},
    config_map::CONFIG_MAP,
    endpoints::ENDPOINTS,
    event::EVENT,
    limit_range::LIMIT_RANGE,
    namespace::{Finalize, NAMESPACE, NamespaceHooks},
    node::NODE,
    persistent_volume::PERSISTENT_VOLUME,
    persistent_volume_claim::PERSISTENT_VOLUME_CLAIM,
    pod::{POD, PodHooks},
    pod_binding::{Binding, LegacyBindings},
    pod_connect::{Log, NoProxy, Stream},
    pod_template::POD_TEMPLATE,
    pod_views::{EphemeralContainers, Resize},
    replication_controller::REPLICATION_CONTROLLER,
    resource_quota::RESOURCE_QUOTA,
    secret::SECRET,
    service::SERVICE,
    service_account::SERVICE_ACCOUNT,
    service_allocation::ServiceHooks,
};
use crate::events::{EVENTS_K8S_IO_EVENT, EventsV1};
use crate::networking::{
    endpoint_slice::ENDPOINT_SLICE, ingress::INGRESS, ingress_class::INGRESS_CLASS, network_policy::NETWORK_POLICY,
    service_cidr,
};
use crate::policy::{eviction::Eviction, pod_disruption_budget::POD_DISRUPTION_BUDGET};
use crate::rules::Rules;
use crate::{flowcontrol, rbac, resource, small, storage};

/// What the kinds have to know of the cluster.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ranges of service addresses, the first of which is the default. In Kubernetes: `--service-cluster-ip-range`.
    pub service_cluster_ip_ranges: Vec<Cidr>,
    /// The first and the last node port. In Kubernetes: `--service-node-port-range`.
    pub service_node_ports: (u16, u16),
}

impl Default for Config {
    fn default() -> Self {
        let range = Cidr::parse("10.0.0.0/24").expect("a constant block of addresses");
        Self { service_cluster_ip_ranges: vec![range], service_node_ports: (30000, 32767) }
    }
}

/// All built-in kinds, in each of their versions.
pub fn kinds(config: &Config) -> Vec<Arc<dyn Strategy>> {
    let mut kinds: Vec<Arc<dyn Strategy>> = vec![coracle_registry::custom::definitions()];
    for kind in special(config) {
        kinds.push(Arc::new(kind));
    }
    for rules in PLAIN {
        kinds.push(Arc::new(BuiltIn::new(*rules)));
    }
    kinds
}

/// The kinds that are rules and nothing else.
const PLAIN: &[Rules] = &[
    CONFIG_MAP,
    ENDPOINTS,
    EVENT,
    LIMIT_RANGE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD_TEMPLATE,
    RESOURCE_QUOTA,
    SECRET,
    SERVICE_ACCOUNT,
    CONTROLLER_REVISION,
    DAEMON_SET,
    JOB,
    CRON_JOB,
    hpa::V2,
    POD_DISRUPTION_BUDGET,
    ENDPOINT_SLICE,
    INGRESS,
    INGRESS_CLASS,
    NETWORK_POLICY,
    service_cidr::SERVICE_CIDR,
    service_cidr::IP_ADDRESS,
    rbac::ROLE,
    rbac::CLUSTER_ROLE,
    rbac::ROLE_BINDING,
    rbac::CLUSTER_ROLE_BINDING,
    storage::STORAGE_CLASS,
    storage::VOLUME_ATTRIBUTES_CLASS,
    storage::CSI_DRIVER,
    storage::CSI_NODE,
    storage::CSI_STORAGE_CAPACITY,
    storage::VOLUME_ATTACHMENT,
    resource::DEVICE_CLASS,
    resource::RESOURCE_CLAIM,
    resource::RESOURCE_CLAIM_TEMPLATE,
    resource::RESOURCE_SLICE,
    admission::MUTATING_WEBHOOK_CONFIGURATION,
    admission::VALIDATING_WEBHOOK_CONFIGURATION,
    admission::VALIDATING_ADMISSION_POLICY,
    admission::VALIDATING_ADMISSION_POLICY_BINDING,
    flowcontrol::FLOW_SCHEMA,
    flowcontrol::PRIORITY_LEVEL_CONFIGURATION,
    small::LEASE,
    small::RUNTIME_CLASS,
    small::PRIORITY_CLASS,
    API_SERVICE,
    Rules::of("authentication.k8s.io", "v1", "tokenreviews"),
    Rules::of("authentication.k8s.io", "v1", "selfsubjectreviews"),
    Rules::of("authorization.k8s.io", "v1", "subjectaccessreviews"),
    Rules::of("authorization.k8s.io", "v1", "localsubjectaccessreviews"),
    Rules::of("authorization.k8s.io", "v1", "selfsubjectaccessreviews"),
    Rules::of("authorization.k8s.io", "v1", "selfsubjectrulesreviews"),
];

/// The kinds with subresources of their own, with hooks, or in a version that is not the stored one.
fn special(config: &Config) -> Vec<BuiltIn> {
    let scale = || Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::LabelSelector)));
    let scale_by_labels = Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::Labels)));
    let no_proxy = || Subresource::Connect(Arc::new(NoProxy));
    let services = ServiceHooks::new(config.service_cluster_ip_ranges.clone(), config.service_node_ports);
    vec![
        pods(),
        BuiltIn::new(Rules::of("", "v1", "bindings")).computed_by(LegacyBindings),
        BuiltIn::new(COMPONENT_STATUS).computed_by(ComponentStatuses),
        BuiltIn::new(NAMESPACE).with(Subresource::View(Arc::new(Finalize))).with_hooks(NamespaceHooks),
        BuiltIn::new(NODE).with(no_proxy()),
        BuiltIn::new(SERVICE).with(no_proxy()).with_hooks(services),
        BuiltIn::new(REPLICATION_CONTROLLER).with(scale_by_labels),
        BuiltIn::new(DEPLOYMENT).with(scale()),
        BuiltIn::new(REPLICA_SET).with(scale()),
        BuiltIn::new(STATEFUL_SET).with(scale()),
        BuiltIn::new(hpa::V1).with_versions(autoscaling::V1),
        BuiltIn::new(EVENTS_K8S_IO_EVENT).with_versions(EventsV1),
        BuiltIn::new(CERTIFICATE_SIGNING_REQUEST).with(Subresource::View(Arc::new(Approval))),
    ]
}

fn pods() -> BuiltIn {
    BuiltIn::new(POD)
        .with(Subresource::Action(Arc::new(Binding)))
        .with(Subresource::Action(Arc::new(Eviction)))
        .with(Subresource::View(Arc::new(EphemeralContainers)))
        .with(Subresource::View(Arc::new(Resize)))
        .with(Subresource::Connect(Arc::new(Log)))
        .with(Subresource::Connect(Arc::new(Stream::EXEC)))
        .with(Subresource::Connect(Arc::new(Stream::ATTACH)))
        .with(Subresource::Connect(Arc::new(Stream::PORT_FORWARD)))
        .with(Subresource::Connect(Arc::new(NoProxy)))
        .with_hooks(PodHooks)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coracle_schema::Table;

    use super::*;

    #[test]
    fn every_resource_of_the_table_has_one_strategy() {
        let kinds = kinds(&Config::default());
        let listed: Vec<_> = kinds.iter().map(|kind| kind.row().resource()).collect();
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
            let served: BTreeSet<&str> = kind.subresources().iter().map(Subresource::name).collect();
            let listed = kind.row().subresources.iter().map(|row| row.name.as_str());
            let listed: BTreeSet<&str> = listed.filter(|name| !elsewhere.contains(name)).collect();
            assert_eq!(served, listed, "{}", kind.row().plural);
        }
    }

    #[test]
    fn every_kind_has_as_many_cells_as_columns() {
        // Three cells stand in the two columns of addresses, in Kubernetes, too.
        for kind in kinds(&Config::default()).iter().filter(|kind| kind.row().plural != "ipaddresses") {
            let cells = kind.cells(&coracle_meta::Object::default(), coracle_ambient::Timestamp::UNIX_EPOCH);
            assert_eq!(cells.len(), kind.columns().len(), "{}", kind.row().plural);
        }
    }
}
