//! What a cluster leaves behind in a program that goes on, as one does that runs many tests.

use std::sync::{Arc, Weak};
use std::time::Duration;

use coracle_client::Api;
use coracle_cluster::{Builder, Cluster, User};
use coracle_meta::{GroupVersionResource, Object};
use coracle_store::Store;
use serde_json::json;

/// The store of a cluster that had something to do and was shut down, and whose runtime is gone.
fn store_after(builder: Builder) -> Weak<dyn Store> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let cluster = builder.start().await.unwrap();
        let client = cluster.client_as(User::new("ann", ["system:masters"]));
        let deployments =
            Api::dynamic(&client, GroupVersionResource::new("apps", "v1", "deployments")).within("default");
        let containers = json!([{"name": "web", "image": "nginx:1.29"}]);
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
        let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template});
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
        deployments.create(&Object::from_value(web).unwrap()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
        let store = Arc::downgrade(&cluster.store());
        assert!(store.strong_count() > 0);
        cluster.shutdown().await;
        store
    })
}

#[test]
fn a_cluster_leaves_nothing_in_memory_after_shutdown() {
    for (name, builder) in [
        ("an API server alone", Cluster::builder().api_server_only()),
        ("one without nodes", Cluster::builder()),
        ("one with nodes", Cluster::builder().nodes(2)),
        ("one with volumes", Cluster::builder().nodes(1).csi_driver()),
    ] {
        assert_eq!(store_after(builder).strong_count(), 0, "{name} holds its store");
    }
}
