use std::future::Future;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::{Ended, LeaderElection, Process, lead};
use coracle_journal::Recorder;
use coracle_meta::{KUBERNETES_VERSION, ObjectKey};
use futures_util::future::BoxFuture;

use crate::controller_set::Starter;
use crate::names::component_name;
use crate::{Config, ControllerSet, Identities};

/// A controller: its name in `--controllers`, and its start function. The function registers event handlers and
/// returns the future that runs the controller.
pub(crate) type Entry = (&'static str, fn(&Process, &Config) -> BoxFuture<'static, ()>);

/// All controllers. A new controller needs a folder, a line here, and a `name` instead of `missing` in `names.rs`.
const CONTROLLERS: &[Entry] = &[
    ("certificatesigningrequest-approving-controller", crate::certificates::approving),
    ("certificatesigningrequest-cleaner-controller", crate::certificates::cleaning),
    ("certificatesigningrequest-signing-controller", crate::certificates::signing),
    ("clusterrole-aggregation-controller", crate::cluster_role_aggregation::start),
    ("cronjob-controller", crate::cronjob::start),
    ("daemonset-controller", crate::daemonset::start),
    ("deployment-controller", crate::deployment::deployments),
    ("disruption-controller", crate::disruption::start),
    ("endpoints-controller", crate::endpoints::start),
    ("endpointslice-controller", crate::endpoint_slice::start),
    ("endpointslice-mirroring-controller", crate::endpoint_slice_mirroring::start),
    ("ephemeral-volume-controller", crate::ephemeral_volume::start),
    ("garbage-collector-controller", crate::garbage_collector::start),
    ("job-controller", crate::job::start),
    ("horizontal-pod-autoscaler-controller", crate::horizontal_pod_autoscaler::start),
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
    ("taint-eviction-controller", crate::taint_eviction::start),
    ("ttl-after-finished-controller", crate::ttl_after_finished::start),
    ("ttl-controller", crate::node_ttl::start),
    ("validatingadmissionpolicy-status-controller", crate::validating_admission_policy_status::start),
    ("volumeattributesclass-protection-controller", crate::volume_attributes_class_protection::start),
];

/// The controller with this name as a component.
pub(crate) fn entry(component: &str) -> Option<&'static Entry> {
    CONTROLLERS.iter().find(|(name, _)| component_name(name) == component)
}

/// Runs the controllers, each with its own identity, until `shutdown`, or until the future is dropped. It may be
/// called again afterwards. Meanwhile each controller is killed and started alone through `set`. With leader election,
/// the controllers run only while this process holds the Lease `kube-system/kube-controller-manager`.
///
/// # Panics
/// If a controller does.
pub async fn run(
    config: Config,
    client: Client,
    identities: Arc<dyn Identities>,
    set: &ControllerSet,
    ambient: Ambient,
    recorder: Recorder,
    shutdown: impl Future<Output = ()> + Send,
) -> Ended {
    let user_agent = format!("kube-controller-manager/{KUBERNETES_VERSION}");
    let client = config.metrics.observing(client.with_user_agent(&user_agent));
    let process = Process::new("controller-manager", &client, &ambient, &recorder).counting(&config.metrics);
    let election = config.leader_election.map(|timings| {
        let key = ObjectKey::new("kube-system", "kube-controller-manager");
        LeaderElection::new(&process, "kube-controller-manager", key, timings)
    });
    let work = async {
        let starter = Starter { process: process.clone(), config: config.clone(), identities, user_agent };
        let running = set.run_with(starter);
        for (name, _) in CONTROLLERS {
            set.start(component_name(name));
        }
        let process = process.clone();
        running.spawn(async move { process.run().await });
        running.joined().await;
    };
    lead(election, shutdown, work).await
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
