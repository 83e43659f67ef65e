//! A kube-rs controller with `fixed-entropy`: one seed gives one event log, in every process.
//!
//! The controller shows where kube-rs takes randomness: it has more objects than it reconciles at a time, it writes in
//! which order its store lists them, a watch fails and is retried with a random delay, and it selects between two
//! branches that are ready.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle::Cluster;
use coracle::journal::{Header, Recorder};
use coracle::prelude::*;
use coracle::simulation::{ClockMode, Effect, Latency, Rule, Selector, Senders, Wire, run_in};
use coracle_fixed_entropy::with_seed;
use coracle_tests::processes::{in_processes, process_count};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Client, Resource, ResourceExt};
use tokio::time::{Instant, sleep, sleep_until};

const PARENTS: usize = 12;
const SEED: u64 = 7;

struct Context {
    client: Client,
    parents: Store<ConfigMap>,
}

/// Makes a child that names all parents, in the order of the store, and the branch that was selected.
async fn reconcile(parent: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let listed: Vec<_> = context.parents.state().iter().map(|parent| parent.name_any()).collect();
    // A controller of a user may take a random branch.
    let branch = tokio::select! {
        () = std::future::ready(()) => "first",
        () = std::future::ready(()) => "second",
    };
    let name = parent.name_any().replace("parent", "child");
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(parent.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("listed".into(), listed.join(" ")), ("branch".into(), branch.into())])),
        ..ConfigMap::default()
    };
    let children = Api::<ConfigMap>::default_namespaced(context.client.clone());
    children.patch(&name, &PatchParams::apply("parents").force(), &Patch::Apply(&child)).await?;
    Ok(Action::requeue(Duration::from_secs(20)))
}

/// Runs the controller for a minute in which its watches fail once. Returns the objects in the end.
async fn run(recorder: Recorder) -> String {
    let latency = Latency { request: Duration::from_millis(1), watch: Duration::from_millis(1) };
    let wire = Wire::with(latency.rules(Senders::All));
    let builder = Cluster::builder().api_server_only().seed(SEED).recorder(recorder);
    let cluster = builder.transport_layer_for_all(wire.layer()).start().await.unwrap();
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for number in 0..PARENTS {
        let labels = BTreeMap::from([("role".into(), "parent".into())]);
        let name = Some(format!("parent-{number}"));
        let metadata = ObjectMeta { name, labels: Some(labels), ..ObjectMeta::default() };
        maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    }
    let controller = Controller::new(maps.clone(), watcher::Config::default().labels("role=parent"));
    let context = Arc::new(Context { client, parents: controller.store() });
    let controller = controller
        .owns(maps.clone(), watcher::Config::default())
        .with_config(Config::default().concurrency(3))
        .run(reconcile, |_, error, _| panic!("{error}"), context)
        .for_each(async |_| ());
    let (controller, start) = (tokio::spawn(controller), Instant::now());

    sleep(Duration::from_secs(5)).await;
    let selector = Selector { verb: Some("watch".into()), ..Selector::default() };
    let refused = wire.add(Rule { selector, effect: Effect::Refuse(503) });
    wire.add(Rule::from(Senders::All, Effect::Close(Instant::now())));
    sleep(Duration::from_secs(10)).await;
    wire.remove(refused);
    sleep_until(start + Duration::from_secs(60)).await;

    controller.abort();
    let found = maps.list(&ListParams::default()).await.unwrap();
    cluster.shutdown().await;
    let lines = found.items.iter().map(|map| serde_json::to_string(map).unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every second process has no event log.
fn run_and_write(number: usize, folder: &Path) {
    let recorded = async {
        let log = |path: &Path| Recorder::file(path, 1, &Header::new("2026-01-01T00:00:00Z")).unwrap();
        let recorder = if number.is_multiple_of(2) { log(&folder.join("log")) } else { Recorder::off() };
        let objects = run(recorder.clone()).await;
        recorder.close().unwrap();
        objects
    };
    let objects = run_in(ClockMode::Virtual, recorded).unwrap();
    assert_eq!(objects.matches("\"branch\"").count(), PARENTS, "each parent has a child");
    std::fs::write(folder.join("objects"), objects).unwrap();
}

#[test]
fn one_seed_gives_one_event_log_in_all_processes_and_the_same_objects_without_a_log() {
    let test = "repeated::one_seed_gives_one_event_log_in_all_processes_and_the_same_objects_without_a_log";
    let run = |number: usize, folder: &Path| with_seed(SEED, || run_and_write(number, folder));
    if let Some(runs) = in_processes(test, process_count(3), run) {
        runs.assert_same();
    }
}

#[test]
fn without_fixed_entropy_the_event_logs_of_two_processes_differ() {
    let test = "repeated::without_fixed_entropy_the_event_logs_of_two_processes_differ";
    let Some(runs) = in_processes(test, 3, run_and_write) else { return };
    assert_eq!(runs.differing(), ["log", "objects"], "kube-rs takes no randomness from the system");
}

#[test]
fn another_seed_of_fixed_entropy_gives_another_event_log() {
    let test = "repeated::another_seed_of_fixed_entropy_gives_another_event_log";
    let run = |number: usize, folder: &Path| with_seed(number as u64, || run_and_write(number, folder));
    let Some(runs) = in_processes(test, 3, run) else { return };
    assert_eq!(runs.differing(), ["log", "objects"]);
}
