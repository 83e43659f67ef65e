//! A cluster of `coracle up` before it starts, and how it starts: at first, after a reset, and as a fork.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use coracle_cluster::{Audit, Builder, Cluster, RealTime, User};
use coracle_control::{
    ClusterTime, ControlOptions, ControlledCluster, Error, ForkListener, Launcher, Listening, Start, Started,
};
use coracle_journal::{EntryId, Header, Recorder};
use coracle_pki::{Credential, kubeconfig};
use coracle_scenario::{FaultList, RunningFaults};
use coracle_secure_serving::Listener;
use coracle_sim::{Wire, record_objects};
use coracle_store::Store;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::commands::server_flags::SecureServing;
use crate::faults_api::cause;
use crate::output::note;
use crate::readiness::Readiness;
use crate::readiness_api::{ReadinessApi, WAITS};
use crate::runtime::server_ambient;
use crate::simulated::simulated_nodes;
use crate::snapshot_api::SnapshotApi;
use crate::state::{self, StateFolder};

/// How often the disks are checked for errors.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// How long the newest entry may wait to be written to the events file.
const FLUSHED: Duration = Duration::from_secs(1);

/// A cluster before it starts: its options, and what it keeps across resets.
pub(super) struct PreparedCluster {
    /// The options of the cluster, without an environment and an event log.
    pub(super) builder: Builder,
    /// The event log, and its first line.
    pub(super) log: (Recorder, Header),
    /// The faults of `--faults`.
    pub(super) faults: Option<FaultList>,
    pub(super) serving: SecureServing,
    /// The token of the administrator.
    pub(super) token: String,
    /// The link to the page, if it is served.
    pub(super) page: Option<String>,
    /// The names of the requested nodes.
    pub(super) named: Vec<String>,
    pub(super) audit: Option<Audit>,
    pub(super) claim: state::Claim,
    /// The tasks that serve the page and the metrics.
    pub(super) tasks: JoinSet<()>,
}

impl PreparedCluster {
    /// The options of a cluster that is controlled from outside.
    pub(super) fn controlled(&self, folder: &StateFolder, time: ClusterTime, seed: Option<u64>) -> ControlOptions {
        ControlOptions {
            time,
            launcher: launcher(self.builder.clone(), self.faults.clone(), folder.clone()),
            listener: listener(&self.serving, self.token.clone()),
            log: self.log.clone(),
            panics: server_ambient().panics,
            seed,
            starts_at: None,
            state: None,
        }
    }
}

/// Starts the cluster with its paths, each time that it is wanted.
pub(super) fn launcher(builder: Builder, faults: Option<FaultList>, folder: StateFolder) -> Launcher {
    let network = Handle::current();
    Arc::new(move |start: Start| {
        let (mut builder, faults, folder) = (builder.clone(), faults.clone(), folder.clone());
        let Start { kept, nodes, ambient, recorder, time } = start;
        builder = builder.ambient(ambient).recorder(recorder);
        if let Some(kept) = kept {
            builder = builder.kept_store(kept);
        }
        if let Some(nodes) = nodes {
            builder = builder.saved_nodes(nodes);
        }
        if let Some(clock) = time.stepped_clock().cloned() {
            builder = builder.real_time(RealTime::new(network.clone(), move || clock.hold()));
        }
        let is_real = time.is_real();
        Box::pin(async move {
            let launched = launch(builder, faults.as_ref()).await;
            let (cluster, faults) = launched.map_err(|error| match error.downcast() {
                Ok(of_cluster) => Error::Cluster(of_cluster),
                Err(other) => Error::Launch(format!("{other:#}")),
            })?;
            if is_real {
                cluster.spawn("disks", watch_disks(cluster.store(), cluster.recorder().clone()));
            }
            let front = SnapshotApi::in_front_of(&cluster, &folder);
            let front = ReadinessApi::of(&cluster, time.stepped_clock()).in_front_of(front);
            Ok(Started { cluster, faults, front })
        })
    })
}

/// Starts a cluster with a wire of its own, and causes these faults.
pub(super) async fn launch(builder: Builder, faults: Option<&FaultList>) -> Result<(Cluster, RunningFaults)> {
    let wire = Wire::default();
    let cluster = builder.transport_layer_for_all(wire.layer()).start().await?;
    if cluster.recorder().is_on() {
        follow_objects(&cluster);
    }
    let running_faults = RunningFaults::new(&cluster, &wire);
    cause(&running_faults, faults).await?;
    Ok((cluster, running_faults))
}

/// Listens for forks, at the address of the server and a free port, with its certificates.
fn listener(serving: &SecureServing, token: String) -> ForkListener {
    let (certificates, oldest_tls) = serving.certificates.clone();
    let (authority, mut address) = (serving.authority.certificate().to_owned(), serving.listener.address());
    address.set_port(0);
    Arc::new(move |fork| {
        let front = coracle_control::transport(&fork);
        let (certificates, token, authority) = (certificates.clone(), token.clone(), authority.clone());
        Box::pin(async move {
            let listener = Listener::bind(address, certificates, oldest_tls).await;
            let listener = listener.map_err(|error| Error::Launch(error.to_string()))?;
            let address = listener.address();
            let server = format!("https://{address}");
            let kubeconfig = kubeconfig("coracle", &server, &authority, Credential::Token(&token));
            let serving = Box::pin(listener.serve(front, std::future::pending()));
            Ok(Listening { address, kubeconfig, serving })
        })
    })
}

/// The names of simulated nodes in the stored state in addition to the requested ones.
pub(super) async fn more_nodes(controlled: &ControlledCluster, named: &[String]) -> Result<Vec<String>> {
    let all = controlled.with(|generation| async move {
        simulated_nodes(&generation.cluster.client_as(User::new("kubernetes-admin", ["system:masters"]))).await
    });
    Ok(all.await??.into_iter().filter(|name| !named.contains(name)).collect())
}

/// Whether the cluster is ready, after a wait for that.
pub(super) async fn readiness(controlled: &ControlledCluster) -> Result<Readiness> {
    let clock = controlled.time().stepped_clock().cloned();
    let wait = controlled
        .with(|generation| async move { ReadinessApi::of(&generation.cluster, clock.as_ref()).wait(WAITS).await });
    Ok(wait.await?)
}

/// Records objects in the event log whenever they change.
fn follow_objects(cluster: &Cluster) {
    let (store, plural_of, recorder) = (cluster.store(), Arc::new(cluster.plurals()), cluster.recorder().clone());
    cluster.spawn("world", async move {
        if let Err(error) = record_objects(&*store, plural_of, recorder).await {
            note!("coracle: the event log no longer records objects: {error}");
        }
    });
}

/// Flushes recorded entries to the events file after a short delay, so that readers find them there, even after a
/// kill.
pub(super) async fn flush(recorder: Recorder) {
    loop {
        recorder.written(EntryId(recorder.last().0 + 1)).await;
        tokio::time::sleep(FLUSHED).await;
        recorder.flush();
    }
}

/// Reports when the store or the event log cannot be written, and when the store can be written again.
async fn watch_disks(store: Arc<dyn Store>, recorder: Recorder) {
    let (mut refusal, mut is_log_lost) = (None, false);
    loop {
        tokio::time::sleep(LOOKED_AT).await;
        let status = store.status().await.unwrap_or_default();
        let now = if status.no_space { Some(status.refusal.unwrap_or_default()) } else { None };
        match (&refusal, &now) {
            (None, Some(why)) => note!("coracle: {why}"),
            (Some(_), None) => note!("coracle: there is space again, and the store is written"),
            _ => {}
        }
        refusal = now;
        if let Some(why) = recorder.failure().filter(|_| !is_log_lost) {
            note!("coracle: the events file ends here, because it cannot be written: {why}");
            is_log_lost = true;
        }
    }
}
