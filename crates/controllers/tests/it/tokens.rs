//! Secrets with tokens of service accounts.

use coracle_api::core_v1::{Secret, ServiceAccount};
use coracle_client::DeleteParams;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn asking(account: &str) -> Value {
    json!({
        "metadata": {
            "namespace": "default", "name": "token", "annotations": {"kubernetes.io/service-account.name": account},
        },
        "type": "kubernetes.io/service-account-token",
    })
}

/// Who a token is of, as the API server sees it; nothing if it does not count.
async fn reviewed(world: &World, token: &str) -> Value {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {"name": ""}, "spec": {"token": token},
    });
    let reviews = world.dynamic(GroupVersionResource::new("authentication.k8s.io", "v1", "tokenreviews"));
    let review: Object = serde_json::from_value(review).unwrap();
    reviews.create(&review).await.unwrap().field("status").cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_asks_is_filled_and_its_token_counts_until_the_account_goes() {
    let world = World::start().await;
    let (secrets, accounts) = (world.api::<Secret>(), world.api::<ServiceAccount>());
    let account: ServiceAccount = world.create(json!({"metadata": {"namespace": "default", "name": "robot"}})).await;
    let _: Secret = world.create(asking("robot")).await;
    let token = async || secrets.get(&key("token")).await.unwrap().data.get("token").cloned();
    until("it is filled", async || token().await.is_some()).await;
    let secret = secrets.get(&key("token")).await.unwrap();
    assert_eq!(secret.data["namespace"], "ZGVmYXVsdA==");
    assert_eq!(secret.metadata.annotations.get("kubernetes.io/service-account.uid"), account.metadata.uid.as_ref());
    let token = decoded(&secret.data["token"]);
    let status = reviewed(&world, &token).await;
    assert_eq!(status["user"]["username"], "system:serviceaccount:default:robot", "{status}");
    assert_eq!(reviewed(&world, &format!("{token}x")).await["authenticated"], Value::Null);
    accounts.delete(&key("robot"), &DeleteParams::default()).await.unwrap();
    until("it goes with its account", async || secrets.find(&key("token")).await.unwrap().is_none()).await;
    assert_ne!(reviewed(&world, &token).await["authenticated"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_an_account_that_never_was_is_deleted() {
    let world = World::start().await;
    let _: Secret = world.create(asking("nobody")).await;
    until("it is gone", async || world.api::<Secret>().find(&key("token")).await.unwrap().is_none()).await;
}

fn decoded(base64: &str) -> String {
    use base64::Engine;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(base64).unwrap()).unwrap()
}
