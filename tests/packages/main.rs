//! A program outside of the workspace: a Deployment becomes three running pods, in virtual time.

use coracle::api::apps_v1::Deployment;
use coracle::api::core_v1::Pod;
use coracle::prelude::*;
use coracle::runtime::{Api, ListParams};
use serde_json::json;

fn main() {
    coracle::run_virtual(1, async |cluster| {
        let web: Deployment = serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {
                "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
                },
            },
        }))
        .unwrap();
        Api::of(&cluster.api_client()).create(&web).await.unwrap();
        cluster.settle().await.unwrap();
        let pods = Api::<Pod>::of(&cluster.api_client()).list(&ListParams::default()).await.unwrap();
        assert_eq!(pods.items.iter().filter(|pod| pod.phase() == "Running").count(), 3);
    })
    .unwrap();
    println!("three pods run");
}
