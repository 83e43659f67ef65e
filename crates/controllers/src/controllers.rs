use std::future::Future;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::{Ended, LeaderElection, Process, lead};
use coracle_journal::Recorder;
use coracle_meta::{KUBERNETES_VERSION, ObjectKey};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::{
    Config, cluster_role_aggregation, daemonset, deployment, disruption, garbage_collector, namespace, node_lifecycle,
    node_ttl, pod_gc, replicaset, resource_quota, root_ca, service_accounts, statefulset, taint_eviction,
};

/// A controller: its name, as `--controllers` has it, and how it begins. What begins it registers its handlers; the
/// future that it gives works until it is dropped.
type Entry = (&'static str, fn(&Process, &Config) -> BoxFuture<'static, ()>);

/// All controllers. Adding one is a folder and a line here.
const CONTROLLERS: &[Entry] = &[
    ("clusterrole-aggregation-controller", cluster_role_aggregation::start),
    ("daemonset-controller", daemonset::start),
    ("deployment-controller", deployment::deployments),
    ("disruption-controller", disruption::start),
    ("garbage-collector-controller", garbage_collector::start),
    ("namespace-controller", namespace::start),
    ("node-lifecycle-controller", node_lifecycle::start),
    ("ttl-controller", node_ttl::start),
    ("pod-garbage-collector-controller", pod_gc::start),
    ("resourcequota-controller", resource_quota::start),
    ("root-ca-certificate-publisher-controller", root_ca::start),
    ("taint-eviction-controller", taint_eviction::start),
    ("serviceaccount-controller", service_accounts::start),
    ("replicaset-controller", replicaset::replica_sets),
    ("replicationcontroller-controller", replicaset::replication_controllers),
    ("statefulset-controller", statefulset::start),
];

/// The names of all controllers.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|(name, _)| *name)
}

/// Runs the controllers until `shutdown`, or until it is dropped; it may be called again afterwards. With leader election,
/// they run only while this process holds the Lease `kube-system/kube-controller-manager`.
///
/// # Panics
/// If a controller does.
pub async fn run(
    config: Config,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    shutdown: impl Future<Output = ()> + Send,
) -> Ended {
    let client = client.with_user_agent(&format!("kube-controller-manager/{KUBERNETES_VERSION}"));
    let process = Process::new("controller-manager", &client, &ambient, &recorder);
    let election = config.leader_election.map(|timings| {
        let key = ObjectKey::new("kube-system", "kube-controller-manager");
        LeaderElection::new(&process, "kube-controller-manager", key, timings)
    });
    let work = async {
        let mut tasks = JoinSet::new();
        for (_, start) in CONTROLLERS.iter().filter(|(name, _)| config.runs(name)) {
            tasks.spawn(start(&process, &config));
        }
        let process = process.clone();
        tasks.spawn(async move { process.run().await });
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    };
    lead(election, shutdown, work).await
}
