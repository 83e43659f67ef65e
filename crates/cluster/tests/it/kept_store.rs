//! A cluster begins with what another one held at a revision.

use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::{Namespace, Pod};
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::Cluster;
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};
use tokio::time::sleep;

fn client(cluster: &Cluster) -> Client {
    Client::new(cluster.service(), cluster.ambient())
}

async fn create<K: Resource>(client: &Client, object: Value) -> i64 {
    let object: K = serde_json::from_value(object).unwrap_or_else(|error| panic!("{error}"));
    let made = Api::of(client).create(&object).await.unwrap_or_else(|error| panic!("{error}"));
    made.meta().resource_version.as_ref().unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn new_controllers_continue_with_the_store_of_a_revision() {
    let cluster = Cluster::builder().nodes(1).seed(1).start().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let set = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pod,
    }});
    let made = create::<ReplicaSet>(&client(&cluster), set).await;
    sleep(Duration::from_secs(5)).await;
    create::<Namespace>(&client(&cluster), json!({"metadata": {"name": "later"}})).await;
    let kept = cluster.keep_store().unwrap();
    cluster.shutdown().await;

    let again = Cluster::builder().nodes(1).seed(2).kept_store(kept.at(made).unwrap()).start().await.unwrap();
    let namespaces = Api::<Namespace>::of(&client(&again));
    assert!(namespaces.get(&ObjectKey::new("", "later")).await.is_err(), "it was made after that revision");
    sleep(Duration::from_secs(10)).await;
    let pods = Api::<Pod>::of(&client(&again)).list(&ListParams::default()).await.unwrap();
    assert_eq!(pods.items.len(), 2, "at that revision there was a set without pods");
    assert!(kept.at(100_000).is_err(), "there is no such revision");
    again.shutdown().await;
}
