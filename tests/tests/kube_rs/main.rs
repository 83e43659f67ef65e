//! kube-rs, unmodified, against a cluster in the same process and in virtual time.
#![expect(clippy::disallowed_macros, reason = "a controller of a user may take a random branch of `tokio::select!`")]

mod checked;
mod leader_election;
mod repeated;
mod verbs;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle::Cluster;
use coracle::prelude::*;
use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;

fn replica_set(replicas: i32) -> ReplicaSet {
    serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]},
            },
        },
    }))
    .unwrap()
}

async fn running(pods: &Api<Pod>) -> Vec<String> {
    let list = pods.list(&ListParams::default().labels("app=web")).await.unwrap();
    let is_running = |pod: &Pod| {
        pod.metadata.deletion_timestamp.is_none()
            && pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
    };
    list.items.into_iter().filter(is_running).filter_map(|pod| pod.metadata.uid).collect()
}

/// Waits on the cluster's clock until three pods run that are none of `old`.
async fn three_others(pods: &Api<Pod>, old: &[String]) -> Vec<String> {
    for _ in 0..600 {
        let now = running(pods).await;
        if now.len() == 3 && old.iter().all(|uid| !now.contains(uid)) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("three pods do not run after a minute of virtual time");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_comes_back_under_another_uid() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let client: Client = cluster.client();
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client);
    sets.create(&PostParams::default(), &replica_set(3)).await.unwrap();
    let first = three_others(&pods, &[]).await;
    let list = pods.list(&ListParams::default()).await.unwrap();
    let victim = list.items.into_iter().next().unwrap();
    pods.delete(&victim.name_any(), &DeleteParams::default()).await.unwrap();
    let second = three_others(&pods, &[victim.uid().unwrap()]).await;
    assert_eq!(first.iter().filter(|uid| second.contains(uid)).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_kube_rs_watcher_sees_every_change() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let seen = tokio::spawn({
        let maps = maps.clone();
        async move {
            let events = watcher(maps, watcher::Config::default()).applied_objects();
            let values = events.map_ok(|map| map.data.unwrap_or_default().remove("n").unwrap_or_default());
            values.take(3).try_collect::<Vec<_>>().await.unwrap()
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    for n in 0..3 {
        let data = BTreeMap::from([("n".to_owned(), n.to_string())]);
        let map = ConfigMap {
            metadata: ObjectMeta { name: Some("a".to_owned()), ..ObjectMeta::default() },
            data: Some(data),
            ..ConfigMap::default()
        };
        let patch = Patch::Apply(&map);
        maps.patch("a", &PatchParams::apply("test").force(), &patch).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(seen.await.unwrap(), ["0", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_kube_rs_controller_brings_back_what_it_owns() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let parent = ConfigMap {
        metadata: ObjectMeta {
            name: Some("parent".to_owned()),
            labels: Some(BTreeMap::from([("role".to_owned(), "parent".to_owned())])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    maps.create(&PostParams::default(), &parent).await.unwrap();

    let parents = watcher::Config::default().labels("role=parent");
    let controller = Controller::new(maps.clone(), parents)
        .owns(maps.clone(), watcher::Config::default())
        .run(reconcile, |_, error, _| panic!("{error}"), Arc::new(client.clone()))
        .for_each(|result| async move { drop(result) });
    let controller = tokio::spawn(controller);

    let child = || async { maps.get_opt("parent-child").await.unwrap().and_then(|child| child.uid()) };
    let before = eventually(child).await;
    maps.delete("parent-child", &DeleteParams::default()).await.unwrap();
    let after = eventually(child).await;
    assert_ne!(before, after);
    controller.abort();
}

async fn reconcile(parent: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, kube::Error> {
    use kube::Resource;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.as_ref().clone());
    let name = format!("{}-child", parent.name_any());
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(parent.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    maps.patch(&name, &PatchParams::apply("parent-controller").force(), &Patch::Apply(&child)).await?;
    Ok(Action::requeue(Duration::from_secs(3600)))
}

/// Asks again on the cluster's clock until there is an answer.
async fn eventually<T, F: Future<Output = Option<T>>>(ask: impl Fn() -> F) -> T {
    for _ in 0..600 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no answer after a minute of virtual time");
}
