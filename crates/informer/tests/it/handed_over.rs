//! What informers of one process share, where nothing stands between them and the server.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_api::core_v1::ConfigMap;
use coracle_client::{Api, Client, DeleteParams, ListParams, WatchParams};
use coracle_cluster::Cluster;
use coracle_informer::{InformerFactory, SharedInformer};
use coracle_journal::{EntryId, Recorder, Stage};
use coracle_meta::{Resource, WatchEvent};

use super::{key, map};
use crate::gate::Gate;

/// An informer of a process of its own.
fn informer(client: &Client, ambient: &Ambient, recorder: &Recorder) -> SharedInformer<ConfigMap> {
    let factory = InformerFactory::new(client, ambient, recorder.clone(), "test");
    let informer = factory.informer::<ConfigMap>();
    tokio::spawn(async move { factory.run().await });
    informer
}

async fn shows(informer: &SharedInformer<ConfigMap>, maps: &Api<ConfigMap>) {
    let version = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version;
    let reached = tokio::time::timeout(Duration::from_secs(5), informer.reached(version.parse().unwrap())).await;
    reached.expect("who waits for a version is told without a bookmark");
}

#[tokio::test(start_paused = true)]
async fn there_is_one_object_a_revision_for_all_caches_but_those_behind_a_transport_that_wraps_bodies() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let (ambient, off) = (cluster.ambient(), Recorder::off());
    let client = Client::new(cluster.service(), ambient);
    let maps = Api::<ConfigMap>::of(&client).within("default");
    let behind_gate = Client::new(Gate::default().before(cluster.service()), ambient);
    let (one, other) = (informer(&client, ambient, &off), informer(&client, ambient, &off));
    let apart = informer(&behind_gate, ambient, &off);
    maps.create(&map("before", 1)).await.unwrap();
    for informer in [&one, &other, &apart] {
        informer.synced().await;
    }
    maps.create(&map("a", 1)).await.unwrap();
    let changed = maps.update(&map("a", 2)).await.unwrap();
    shows(&one, &maps).await;
    shows(&other, &maps).await;
    apart.reached(changed.metadata.resource_version.unwrap().parse().unwrap()).await;
    for name in ["before", "a"] {
        let object = |informer: &SharedInformer<ConfigMap>| informer.lister().get(&key(name)).expect("it is cached");
        assert!(Arc::ptr_eq(&object(&one), &object(&other)), "{name}");
        assert!(!Arc::ptr_eq(&object(&one), &object(&apart)), "{name}");
        assert_eq!(object(&one), object(&apart));
        assert!(object(&one).metadata.managed_fields.is_empty());
    }
    maps.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    shows(&one, &maps).await;
    assert!(one.lister().get(&key("a")).is_none());
    let live = maps.get(&key("before")).await.unwrap();
    assert!(!live.metadata.managed_fields.is_empty(), "only caches drop them");
    assert_eq!(live.key(), key("before"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_keep_open_ends_at_its_timeout_and_has_bookmarks() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let maps = Api::<ConfigMap>::of(&Client::new(cluster.service(), cluster.ambient()));
    let start = tokio::time::Instant::now();
    let params = WatchParams { bookmarks: true, timeout_seconds: 90, ..WatchParams::default() };
    let mut watch = maps.watch(&params).await.unwrap();
    let mut bookmarks = 0;
    while let Some(event) = watch.next().await.unwrap() {
        bookmarks += usize::from(matches!(event, WatchEvent::Bookmark { .. }));
    }
    assert_eq!(start.elapsed().as_secs(), 90);
    assert!(bookmarks > 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_handed_over_is_opened_once_and_lasts() {
    let recorder = Recorder::ring(100_000);
    let cluster = Cluster::builder().recorder(recorder.clone()).api_server_only().start().await.unwrap();
    let client = Client::new(cluster.service(), cluster.ambient());
    let maps = Api::<ConfigMap>::of(&client).within("default");
    let informer = informer(&client, cluster.ambient(), &recorder);
    informer.synced().await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let of_watches = |stage: Stage| recorder.entries(EntryId(0)).iter().filter(|entry| entry.stage == stage).count();
    assert_eq!((of_watches(Stage::ReflectorWatch), of_watches(Stage::ReflectorList)), (1, 1));
    maps.create(&map("late", 1)).await.unwrap();
    shows(&informer, &maps).await;
    assert!(informer.lister().get(&key("late")).is_some());
}
