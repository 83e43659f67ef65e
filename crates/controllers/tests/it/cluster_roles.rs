//! Cluster roles that are made of others.

use coracle_api::rbac_v1::ClusterRole;
use coracle_client::DeleteParams;
use coracle_meta::ObjectKey;
use serde_json::json;

use crate::world::{World, until};

#[tokio::test(start_paused = true)]
async fn view_holds_what_its_parts_hold_and_follows_them() {
    let world = World::start().await;
    let roles = world.api::<ClusterRole>();
    let view = async |resource: &str| {
        let rules = roles.get(&ObjectKey::cluster("view")).await.unwrap().rules;
        rules.iter().any(|rule| rule.resources.iter().any(|known| known == resource))
    };
    until("the built-in part is in", async || view("configmaps").await).await;
    assert!(!view("boats").await && !view("secrets").await);
    let part: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": "see-boats", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["sea.example"], "resources": ["boats"], "verbs": ["get"]}],
    }))
    .unwrap();
    roles.create(&part).await.unwrap();
    until("the new part is in", async || view("boats").await).await;
    roles.delete(&ObjectKey::cluster("see-boats"), &DeleteParams::default()).await.unwrap();
    until("the new part is out again", async || !view("boats").await).await;
    assert!(view("configmaps").await);
}
