//! Tokens in Secrets that nobody uses.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_api::core_v1::{ConfigMap, Pod, Secret, ServiceAccount};
use coracle_client::{DeleteParams, Patch};
use coracle_controllers::Config;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::world::{World, until};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// A cluster in which tokens go that were unused for two days.
async fn start() -> World {
    World::start_with(Config { legacy_token_clean_up_period: 2 * DAY, ..Config::default() }).await
}

/// A Secret with a token of the account, which lists it if it was made as Kubernetes once did by itself.
async fn token(world: &World, name: &str, listed: bool) -> String {
    let account: ServiceAccount = world.create(json!({"metadata": {"namespace": "default", "name": name}})).await;
    let annotations = json!({"kubernetes.io/service-account.name": name});
    let metadata = json!({"namespace": "default", "name": name, "annotations": annotations});
    let _: Secret = world.create(json!({"metadata": metadata, "type": "kubernetes.io/service-account-token"})).await;
    if listed {
        let patch = Patch::Merge(json!({"metadata": {"uid": account.metadata.uid}, "secrets": [{"name": name}]}));
        world.api::<ServiceAccount>().patch(&key(name), &patch).await.unwrap();
    }
    let held = async || world.api::<Secret>().get(&key(name)).await.unwrap().data.get("token").cloned();
    until("it is filled", async || held().await.is_some()).await;
    String::from_utf8(STANDARD.decode(held().await.unwrap()).unwrap()).unwrap()
}

async fn label(world: &World, name: &str, label: &str) -> Option<String> {
    world.api::<Secret>().get(&key(name)).await.unwrap().metadata.labels.get(label).cloned()
}

/// What the API server says of a token.
async fn reviewed(world: &World, token: &str) -> Value {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {"name": ""}, "spec": {"token": token},
    });
    let reviews = world.dynamic(GroupVersionResource::new("authentication.k8s.io", "v1", "tokenreviews"));
    let review: Object = serde_json::from_value(review).unwrap();
    reviews.create(&review).await.unwrap().field("status").cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_unused_legacy_token_is_marked_and_then_deleted() {
    let world = start().await;
    let token_of_unused = token(&world, "unused", true).await;
    let token_of_used = token(&world, "used", true).await;
    token(&world, "asked-for", false).await;
    token(&world, "mounted", true).await;
    let volumes = json!([{"name": "v", "secret": {"secretName": "mounted"}}]);
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": volumes});
    let _: Pod = world.create(json!({"metadata": {"namespace": "default", "name": "p"}, "spec": spec})).await;
    for _ in 0..4 {
        sleep(DAY).await;
        assert_eq!(reviewed(&world, &token_of_used).await["authenticated"], true);
    }
    assert!(label(&world, "unused", INVALID_SINCE).await.is_some());
    for name in ["used", "asked-for", "mounted"] {
        assert_eq!(label(&world, name, INVALID_SINCE).await, None, "{name}");
    }
    assert!(label(&world, "used", LAST_USED).await.is_some());
    let refused = reviewed(&world, &token_of_unused).await;
    assert!(refused["error"].as_str().unwrap().contains("has been marked invalid"), "{refused}");
    // Whoever tried it used it: it stays as long as it would have.
    assert!(label(&world, "unused", LAST_USED).await.is_some());
    for _ in 0..8 {
        sleep(DAY).await;
        assert_eq!(reviewed(&world, &token_of_used).await["authenticated"], true);
    }
    let secrets = world.api::<Secret>();
    assert!(secrets.find(&key("unused")).await.unwrap().is_none());
    for name in ["used", "asked-for", "mounted"] {
        assert!(secrets.find(&key(name)).await.unwrap().is_some(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_start_of_token_tracking_is_published_and_repaired() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    let key = ObjectKey::new("kube-system", "kube-apiserver-legacy-service-account-token-tracking");
    let since = async || maps.find(&key).await.unwrap().map(|map| map.data["since"].clone());
    let day = since().await.unwrap();
    assert_eq!(day.len(), "2026-01-01".len());
    maps.patch(&key, &Patch::Merge(json!({"data": {"since": "long ago"}}))).await.unwrap();
    until("it is a day again", async || since().await.as_deref() == Some(day.as_str())).await;
    maps.delete(&key, &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(29 * 60)).await;
    assert_eq!(since().await, None, "so soon it is not made again");
    sleep(Duration::from_secs(120)).await;
    assert!(since().await.is_some());
}
