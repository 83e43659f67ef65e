use std::future::Future;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controller_runtime::{Ended, LeaderElection, Process, lead};
use coracle_journal::Recorder;
use coracle_meta::ObjectKey;

use crate::controller_set::Starter;
use crate::controllers::CONTROLLERS;
use crate::names::component_name;
use crate::{Config, ControllerSet, Identities};

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
    let user_agent = format!("kube-controller-manager/{}", config.release.git_version());
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
