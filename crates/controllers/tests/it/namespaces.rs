//! What every namespace has, and how one goes.

use coracle_api::core_v1::{ConfigMap, Namespace, ServiceAccount};
use coracle_client::{DeleteParams, Patch};
use coracle_meta::ObjectKey;
use serde_json::json;

use crate::world::{World, until};

async fn namespace(world: &World, name: &str) {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    world.api::<Namespace>().create(&namespace).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_active_namespace_has_an_account_and_a_root_ca_and_gets_them_back() {
    let world = World::start().await;
    namespace(&world, "team").await;
    let accounts = world.api::<ServiceAccount>();
    let maps = world.api::<ConfigMap>();
    let account = ObjectKey::new("team", "default");
    let root_ca = ObjectKey::new("team", "kube-root-ca.crt");
    until("the account is there", async || accounts.find(&account).await.unwrap().is_some()).await;
    until("the root CA is there", async || maps.find(&root_ca).await.unwrap().is_some()).await;
    accounts.delete(&account, &DeleteParams::default()).await.unwrap();
    maps.patch(&root_ca, &Patch::Merge(json!({"data": {"ca.crt": "forged", "more": "x"}}))).await.unwrap();
    until("the account is back", async || accounts.find(&account).await.unwrap().is_some()).await;
    until("the root CA is itself again", async || maps.get(&root_ca).await.unwrap().data.keys().eq(["ca.crt"])).await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_is_emptied_and_goes() {
    let world = World::start().await;
    namespace(&world, "team").await;
    let maps = world.api::<ConfigMap>();
    let namespaces = world.api::<Namespace>();
    let team = ObjectKey::cluster("team");
    let held = ObjectKey::new("team", "held");
    let mut map = ConfigMap::default();
    map.metadata.namespace = Some("team".to_owned());
    map.metadata.name = Some("held".to_owned());
    map.metadata.finalizers = vec!["test/hold".to_owned()];
    maps.create(&map).await.unwrap();
    namespaces.delete(&team, &DeleteParams::default()).await.unwrap();
    let remaining = async || {
        let conditions = namespaces.get(&team).await.unwrap().status.conditions;
        let condition = conditions.into_iter().find(|condition| condition.type_ == "NamespaceContentRemaining");
        condition.map(|condition| condition.message).unwrap_or_default()
    };
    until("what is left is told", async || remaining().await.starts_with("Some resources")).await;
    assert_eq!(remaining().await, "Some resources are remaining: configmaps. has 1 resource instances");
    maps.patch(&held, &Patch::Merge(json!({"metadata": {"finalizers": null}}))).await.unwrap();
    until("the namespace is gone", async || namespaces.find(&team).await.unwrap().is_none()).await;
}
