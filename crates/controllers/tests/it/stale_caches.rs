//! A cache is behind the server; a controller must not do twice what it has done already.

use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::{ConfigMap, Pod};
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::{Cluster, Requester};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_journal::{EntryId, Recorder, Stage};
use coracle_meta::{ObjectKey, Resource};
use coracle_sim::{Effect, Rule, Selector, Senders, Wire};
use serde_json::json;

use crate::world::until;

const LATE: Duration = Duration::from_millis(40);

/// A wire on which what the watches of one kind say arrives later.
fn late(sender: &str, resource: &str) -> Wire {
    let selector = Selector {
        from: Senders::Named(sender.to_owned()),
        resource: Some(resource.to_owned()),
        ..Selector::default()
    };
    Wire::with([Rule { selector, effect: Effect::Lag(LATE) }])
}

pub(crate) fn web() -> ReplicaSet {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_set_behind_late_watches_makes_no_pod_too_many() {
    let recorder = Recorder::ring(100_000);
    // Of pods alone: the set's own status comes at once, and with it a sync that does not know its pods yet.
    let wire = late("controller-manager", "pods");
    let builder = Cluster::builder().nodes(1).recorder(recorder.clone()).transport_layer(wire.layer());
    let cluster = builder.start().await.unwrap();
    let client = Client::new(cluster.service(), cluster.ambient());
    let pods: Api<Pod> = Api::of(&client).within("default");
    Api::of(&client).create(&web()).await.unwrap();
    let active = async || {
        let pods = pods.list(&ListParams::labels("app=web")).await.unwrap().items;
        pods.into_iter().filter(Pod::is_active).collect::<Vec<_>>()
    };
    until("three pods are there", async || active().await.len() == 3).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    pods.delete(&active().await[0].key(), &DeleteParams::now()).await.unwrap();
    until("three pods are there again", async || active().await.len() == 3).await;
    tokio::time::sleep(Duration::from_secs(5)).await;

    let entries = recorder.entries(EntryId(0));
    let writes = |verb: &str| {
        let by_the_set = |entry: &&coracle_journal::Entry| {
            entry.stage == Stage::SyncWrite
                && entry.actor == "controller-manager/replicaset"
                && entry.data["resource"] == "pods"
                && entry.data["verb"] == verb
        };
        entries.iter().filter(by_the_set).count()
    };
    assert_eq!((writes("create"), writes("delete")), (4, 0));
    assert!(entries.iter().any(|entry| entry.stage == Stage::SyncWaitStale), "nothing was ever late");
}

/// Deletes config maps, the last one first, until there is one.
struct OneIsLeft(Lister<ConfigMap>);

impl Reconciler for OneIsLeft {
    async fn reconcile(&self, pass: &Pass, _: &ObjectKey) -> Result<Action, ReconcileError> {
        match self.0.list().as_slice() {
            [_, .., last] => {
                pass.api::<ConfigMap>().delete(&last.key(), &DeleteParams::default()).await?;
                Ok(Action::RequeueAfter(Duration::from_millis(1)))
            }
            _ => Ok(Action::Done),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_not_deleted_again_while_the_cache_still_shows_it() {
    let recorder = Recorder::ring(10_000);
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let maps: Api<ConfigMap> = Api::of(&Client::new(cluster.service(), cluster.ambient())).within("default");
    for name in ["a", "b", "c"] {
        maps.create(&serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()).await.unwrap();
    }
    let late = late("program", "configmaps").over(&Requester::user("program"), cluster.service());
    let client = Client::new(late, cluster.ambient());
    let process = Process::new("program", &client, cluster.ambient(), &recorder);
    let informer = process.informers.informer::<ConfigMap>();
    let lister = informer.lister();
    let controller = Controller::new(&process, "one", OneIsLeft(lister.clone())).reads(&informer);
    let queue = controller.queue();
    cluster.spawn("informers", async move { process.run().await });
    informer.synced().await;
    let there = lister.len();
    queue.add(ObjectKey::cluster("all"), &[]);
    cluster.spawn("controller", controller.run());
    until("one is left", async || lister.len() == 1).await;
    tokio::time::sleep(Duration::from_secs(5)).await;

    let entries = recorder.entries(EntryId(0));
    let deletes =
        entries.iter().filter(|entry| entry.stage == Stage::SyncWrite && entry.data["verb"] == "delete").count();
    assert_eq!(deletes, there - 1, "one delete each");
    let waited =
        |entry: &&coracle_journal::Entry| entry.stage == Stage::SyncWaitStale && entry.data.contains_key("gone");
    assert_eq!(entries.iter().filter(waited).count(), there - 1, "each was waited for");
}
