//! Several controller-managers stand beside each other, and one acts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::Pod;
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::controllers::{self, Config, ControllerSet};
use coracle_cluster::{Body, Cluster, Ended, LeaderTimings, Requester, Transport};
use coracle_controller_runtime::{LeaderElection, Process};
use coracle_journal::Recorder;
use coracle_meta::ObjectKey;
use coracle_sim::{Effect, Rule, Senders, Wire};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::stale_caches::web;
use crate::world::until;

/// A controller-manager of its own, which may be killed, asked to stop, or cut off.
struct ControllerManager {
    task: JoinHandle<Ended>,
    stop: oneshot::Sender<()>,
    wire: Wire,
}

impl ControllerManager {
    fn start(cluster: &Cluster, name: &str) -> Self {
        let ambient = cluster.ambient().split(name);
        let wire = Wire::default();
        let client = Client::new(wire.over(&Requester::user(name), cluster.service()), &ambient);
        let config = Config { leader_election: Some(LeaderTimings::default()), ..Config::default() };
        let (stop, asked) = oneshot::channel();
        let asked = async {
            let _ = asked.await;
        };
        let task = tokio::spawn(async move {
            let (identities, set) = (Arc::new(client.clone()), ControllerSet::default());
            controllers::run(config, client, identities, &set, ambient, Recorder::off(), asked).await
        });
        Self { task, stop, wire }
    }
}

/// Never answers the next request that matches, and passes all others on.
fn hanging_once(transport: Transport, hangs: Arc<AtomicBool>, is_it: fn(&http::Request<Body>) -> bool) -> Transport {
    Transport::to(tower::service_fn(move |request: http::Request<Body>| {
        let hangs = is_it(&request) && hangs.swap(false, Ordering::Relaxed);
        let answer = (!hangs).then(|| transport.send(request));
        async move {
            match answer {
                Some(answer) => answer.await,
                None => std::future::pending().await,
            }
        }
    }))
}

async fn lease(cluster: &Cluster) -> Option<Lease> {
    let leases: Api<Lease> = Api::of(&Client::new(cluster.service(), cluster.ambient()));
    leases.find(&ObjectKey::new("kube-system", "kube-controller-manager")).await.unwrap()
}

/// Waits until somebody else than `other` holds the lease, and says who.
async fn holder_but(cluster: &Cluster, other: &str) -> String {
    let holder = async || lease(cluster).await.and_then(|lease| lease.spec.holder_identity).unwrap_or_default();
    until("somebody leads", async || !["", other].contains(&holder().await.as_str())).await;
    holder().await
}

/// A control plane without controllers, and two controller-managers, of which the first leads.
async fn two_stand() -> (Cluster, ControllerManager, ControllerManager, String) {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let first = ControllerManager::start(&cluster, "first");
    let leader = holder_but(&cluster, "").await;
    let second = ControllerManager::start(&cluster, "second");
    (cluster, first, second, leader)
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_dies_is_followed_when_its_lease_is_over() {
    let (cluster, first, _second, leader) = two_stand().await;
    let died = Instant::now();
    first.task.abort();
    holder_but(&cluster, &leader).await;
    assert!(died.elapsed() >= Duration::from_secs(12), "the lease was taken while it held");
    assert_eq!(lease(&cluster).await.unwrap().spec.lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_asked_to_stop_gives_its_lease_up() {
    let (cluster, first, _second, leader) = two_stand().await;
    let asked = Instant::now();
    first.stop.send(()).unwrap();
    assert_eq!(first.task.await.unwrap(), Ended::Asked);
    holder_but(&cluster, &leader).await;
    assert!(asked.elapsed() < Duration::from_secs(6), "the other waited for the end of the lease");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_its_lease_stops_before_another_may_take_it() {
    let (cluster, first, _second, leader) = two_stand().await;
    first.wire.add(Rule::from(Senders::All, Effect::Cut));
    let cut = Instant::now();
    assert_eq!(timeout(Duration::from_secs(60), first.task).await.unwrap().unwrap(), Ended::LeadershipLost);
    assert!(cut.elapsed() < Duration::from_secs(15), "it acted longer than its lease");
    assert_ne!(holder_but(&cluster, &leader).await, leader);
}

#[tokio::test(start_paused = true)]
async fn of_two_controller_managers_only_the_leader_makes_pods() {
    let (cluster, _first, _second, _) = two_stand().await;
    let client = Client::new(cluster.service(), cluster.ambient());
    let (sets, pods): (Api<ReplicaSet>, Api<Pod>) = (Api::of(&client), Api::of(&client));
    sets.create(&web()).await.unwrap();
    let count = async || pods.list(&ListParams::default()).await.unwrap().items.len();
    until("three pods", async || count().await >= 3).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(count().await, 3);
}

#[tokio::test(start_paused = true)]
async fn hung_renewal() {
    for is_it in [
        (|request: &http::Request<Body>| request.method() == http::Method::PUT) as fn(&http::Request<Body>) -> bool,
        |request| request.method() == http::Method::GET,
    ] {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        let hangs = Arc::new(AtomicBool::new(false));
        let transport = hanging_once(cluster.service(), Arc::clone(&hangs), is_it);
        let client = Client::new(transport, cluster.ambient());
        let process = Process::new("program", &client, cluster.ambient(), &Recorder::off());
        let key = ObjectKey::new("kube-system", "program");
        let mut election = LeaderElection::new(&process, "program", key, LeaderTimings::default());
        election.acquire().await;
        let led = timeout(Duration::from_secs(60), async {
            tokio::join!(election.hold(), async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                hangs.store(true, Ordering::Relaxed);
            })
        });
        assert!(led.await.is_err(), "a request that hangs leaves time for another, so that the lease is kept");
        assert!(!hangs.load(Ordering::Relaxed), "a request has hung");
    }
}
