//! Informers against a real API server in the same process, through a gate that breaks.

mod gate;
mod handed_over;
mod resync;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_api::core_v1::ConfigMap;
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::Cluster;
use coracle_informer::{InformerFactory, Notification, SharedInformer};
use coracle_journal::{Recorder, Stage};
use coracle_meta::{ObjectKey, Resource};
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::gate::Gate;

struct World {
    cluster: Cluster,
    maps: Api<ConfigMap>,
    gate: Gate,
    informer: SharedInformer<ConfigMap>,
    told: Arc<Mutex<Vec<String>>>,
}

/// A server, an informer behind a gate, and what its handler is told.
async fn world(recorder: Recorder) -> World {
    let cluster = Cluster::builder().recorder(recorder.clone()).api_server_only().start().await.unwrap();
    let maps = Api::of(&Client::new(cluster.service(), cluster.ambient())).within("default");
    let gate = Gate::default();
    let client = Client::new(gate.before(cluster.service()), cluster.ambient());
    let factory = InformerFactory::new(&client, cluster.ambient(), recorder, "test");
    let informer = factory.informer::<ConfigMap>();
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = told.clone();
    informer.add_handler("test/handler", move |notification, _| {
        let key = notification.object().key();
        telling.lock().push(match notification {
            Notification::Added { initial, .. } => format!("added {key} initial={initial}"),
            Notification::Updated { .. } => format!("updated {key}"),
            Notification::Deleted { observed, .. } => format!("deleted {key} observed={observed}"),
        });
    });
    tokio::spawn(async move { factory.run().await });
    World { cluster, maps, gate, informer, told }
}

fn map(name: &str, value: u64) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some("default".to_owned());
    map.data.insert("value".to_owned(), value.to_string());
    map
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

impl World {
    async fn settle(&self) {
        let list = self.maps.list(&ListParams::default()).await.unwrap();
        let revision = list.metadata.resource_version.parse().unwrap();
        let reached = tokio::time::timeout(Duration::from_secs(600), self.informer.reached(revision)).await;
        reached.expect("the cache came to the version of the list");
        tokio::task::yield_now().await;
    }

    async fn assert_cache_equals_list(&self) {
        let listed = self.maps.list(&ListParams::default()).await.unwrap();
        let versions = |maps: Vec<ConfigMap>| -> BTreeMap<_, _> {
            maps.into_iter().map(|map| (map.key(), (map.metadata.resource_version, map.data))).collect()
        };
        let cached = self.informer.lister().list_namespace("default").iter().map(|map| map.as_ref().clone()).collect();
        assert_eq!(versions(cached), versions(listed.items));
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock())
    }
}

#[tokio::test(start_paused = true)]
async fn existing_objects_are_reported_as_initial_and_later_ones_are_not() {
    let world = world(Recorder::off()).await;
    world.maps.create(&map("before", 1)).await.unwrap();
    world.informer.synced().await;
    world.settle().await;
    let before = world.told();
    world.maps.create(&map("after", 1)).await.unwrap();
    world.maps.delete(&key("before"), &DeleteParams::default()).await.unwrap();
    world.settle().await;
    assert!(before.iter().any(|told| told.starts_with("added default/before")), "{before:?}");
    assert_eq!(world.told(), ["added default/after initial=false", "deleted default/before observed=true"]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_is_resumed_without_a_new_list() {
    let world = world(Recorder::off()).await;
    world.informer.synced().await;
    world.maps.create(&map("a", 1)).await.unwrap();
    world.settle().await;
    world.told();
    let lists = world.gate.asked_for("sendInitialEvents");
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.gate.close();
    world.maps.create(&map("b", 1)).await.unwrap();
    world.maps.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.gate.open();
    world.settle().await;
    assert_eq!(world.told(), ["added default/b initial=false", "deleted default/a observed=true"]);
    assert_eq!(world.gate.asked_for("sendInitialEvents"), lists);
}

#[tokio::test(start_paused = true)]
async fn a_missed_deletion_is_reported_after_a_new_list() {
    let world = world(Recorder::off()).await;
    world.informer.synced().await;
    world.maps.create(&map("a", 1)).await.unwrap();
    world.maps.create(&map("b", 1)).await.unwrap();
    world.settle().await;
    world.told();
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.gate.close();
    world.maps.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    world.gate.expire_next();
    world.gate.open();
    world.settle().await;
    // What did not change is not told again.
    assert_eq!(world.told(), ["deleted default/a observed=false"]);
    world.assert_cache_equals_list().await;
}

#[tokio::test(start_paused = true)]
async fn every_stage_is_recorded_and_names_the_one_before() {
    let recorder = Recorder::ring(10_000);
    let world = world(recorder.clone()).await;
    world.informer.synced().await;
    world.maps.create(&map("a", 1)).await.unwrap();
    world.settle().await;
    let entries = recorder.entries(coracle_journal::EntryId(0));
    let subject = "configmaps/default/a";
    let mut last = entries.iter().find(|entry| entry.stage == Stage::StoreCommit && entry.subject == subject);
    for stage in [Stage::WatchSend, Stage::FifoAdd, Stage::FifoPop, Stage::CacheApply, Stage::HandlerCall] {
        let cause = last.unwrap_or_else(|| panic!("nothing before {stage:?}")).id;
        last = entries.iter().find(|entry| entry.stage == stage && entry.causes.contains(&cause));
    }
    assert_eq!(last.map(|entry| entry.actor.as_str()), Some("test/handler"));
}

#[tokio::test(start_paused = true)]
async fn a_list_names_what_led_to_it() {
    let recorder = Recorder::ring(10_000);
    let world = world(recorder.clone()).await;
    world.informer.synced().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.gate.close();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.maps.create(&map("meanwhile", 1)).await.unwrap();
    world.gate.expire_next();
    world.gate.open();
    world.settle().await;
    let entries = recorder.entries(coracle_journal::EntryId(0));
    let lists: Vec<_> = entries.iter().filter(|entry| entry.stage == Stage::ReflectorList).collect();
    assert_eq!(lists.iter().map(|list| list.data["why"].as_str().unwrap()).collect::<Vec<_>>(), ["start", "Expired"]);
    let stage_of = |id| entries.iter().find(|entry| entry.id == id).map(|entry| (entry.stage, entry.causes.clone()));
    let (stage, before) = stage_of(lists[1].causes[0]).expect("the list has a cause");
    assert_eq!(stage, Stage::ReflectorWatch, "the watch that streamed it");
    let (stage, _) = stage_of(before[0]).expect("the watch has a cause");
    assert_eq!(stage, Stage::ReflectorWatch, "the watch that ended before");
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Delete(u8),
    Cut,
    Close,
    Open,
    Expire,
    Repeat(bool),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5_u8).prop_map(Step::Put),
        3 => (0..5_u8).prop_map(Step::Delete),
        1 => Just(Step::Cut),
        1 => Just(Step::Close),
        2 => Just(Step::Open),
        1 => Just(Step::Expire),
        1 => any::<bool>().prop_map(Step::Repeat),
        2 => (0..4000_u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_cache_becomes_equal_to_a_list_after_any_mix_of_breaks(steps in steps(), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async move {
            let world = world(Recorder::off()).await;
            let random = Random::from_seed(seed);
            for step in steps {
                world.take(step, &random).await;
            }
            world.gate.open();
            world.settle().await;
            world.assert_cache_equals_list().await;
            world.cluster.shutdown().await;
        });
    }
}

impl World {
    async fn take(&self, step: Step, random: &Random) {
        match step {
            Step::Put(id) => {
                let map = map(&id.to_string(), random.bits());
                if self.maps.find(&map.key()).await.unwrap().is_some() {
                    self.maps.update(&map).await.unwrap();
                } else {
                    self.maps.create(&map).await.unwrap();
                }
            }
            Step::Delete(id) => {
                // A map that is not there is as good as deleted.
                let _ = self.maps.delete(&key(&id.to_string()), &DeleteParams::default()).await;
            }
            Step::Cut => self.gate.cut(),
            Step::Close => self.gate.close(),
            Step::Open => self.gate.open(),
            Step::Expire => self.gate.expire_next(),
            Step::Repeat(repeat) => self.gate.repeat(repeat),
            Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
        }
    }
}
