//! A cluster begins with what another one held at a revision.

use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::{Namespace, Pod};
use coracle_api::rbac_v1::ClusterRole;
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::{ApiServerOptions, Cluster};
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
async fn default_objects_are_written_again_only_if_they_differ_or_did_not_exist_yet() {
    let role = ObjectKey::new("", "view");
    let began = Cluster::builder().api_server_only().seed(1).start().await.unwrap();
    let roles = Api::<ClusterRole>::of(&client(&began));
    roles.delete(&role, &DeleteParams::default()).await.unwrap();
    let kept = began.keep_store().unwrap();
    began.shutdown().await;
    let continued = Cluster::builder().api_server_only().seed(1).kept_store(kept.clone()).start().await.unwrap();
    let again = continued.keep_store().unwrap();
    assert!(Api::<ClusterRole>::of(&client(&continued)).get(&role).await.is_err(), "it was deleted, and stays so");
    continued.shutdown().await;
    let advertised = Some("192.0.2.1:7443".parse().unwrap());
    let other = ApiServerOptions { advertised, ..ApiServerOptions::default() };
    let first = kept.at(20).unwrap();
    for builder in [
        Cluster::builder().kept_store(again).api_server(other),
        // Not all default objects existed at that revision.
        Cluster::builder().kept_store(first),
    ] {
        let restarted = builder.api_server_only().seed(1).start().await.unwrap();
        Api::<ClusterRole>::of(&client(&restarted)).get(&role).await.unwrap();
        restarted.shutdown().await;
    }
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
