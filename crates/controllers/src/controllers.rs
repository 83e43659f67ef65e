use std::future::Future;
use std::pin::pin;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::Process;
use coracle_journal::Recorder;
use futures_util::future::{BoxFuture, select};
use tokio::task::JoinSet;

use crate::{
    Config, deployment, garbage_collector, namespace, node_lifecycle, node_ttl, pod_gc, replicaset, root_ca,
    service_accounts, taint_eviction,
};

/// A controller: its name, as `--controllers` has it, and how it begins. What begins it registers its handlers; the
/// future that it gives works until it is dropped.
type Entry = (&'static str, fn(&Process, &Config) -> BoxFuture<'static, ()>);

/// All controllers. Adding one is a folder and a line here.
const CONTROLLERS: &[Entry] = &[
    ("deployment-controller", deployment::deployments),
    ("garbage-collector-controller", garbage_collector::start),
    ("namespace-controller", namespace::start),
    ("node-lifecycle-controller", node_lifecycle::start),
    ("ttl-controller", node_ttl::start),
    ("pod-garbage-collector-controller", pod_gc::start),
    ("root-ca-certificate-publisher-controller", root_ca::start),
    ("taint-eviction-controller", taint_eviction::start),
    ("serviceaccount-controller", service_accounts::start),
    ("replicaset-controller", replicaset::replica_sets),
    ("replicationcontroller-controller", replicaset::replication_controllers),
];

/// The names of all controllers.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|(name, _)| *name)
}

/// Runs the controllers until `shutdown`, or until it is dropped; it may be called again afterwards.
///
/// # Panics
/// If a controller does.
pub async fn run(
    config: Config,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    shutdown: impl Future<Output = ()> + Send,
) {
    let client = client.with_user_agent("kube-controller-manager/v1.35.3");
    let process = Process::new("controller-manager", &client, &ambient, &recorder);
    let mut tasks = JoinSet::new();
    for (_, start) in CONTROLLERS.iter().filter(|(name, _)| config.runs(name)) {
        tasks.spawn(start(&process, &config));
    }
    tasks.spawn(async move { process.run().await });
    let ended = async {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    };
    // Looks at the left one first, always.
    select(pin!(shutdown), pin!(ended)).await;
}
