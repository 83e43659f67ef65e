//! What every cluster begins with is there again after a restart.

use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_cluster::{ApiServer, ApiServerOptions, NoNodes, StoreSpec};
use coracle_journal::Recorder;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object};
use coracle_registry::{DeleteOptions, GetOptions, Request, Verb};
use serde_json::json;

const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

fn request(server: &ApiServer, verb: Verb, plural: &str, name: &str) -> Request {
    let resource = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", plural);
    Request::new(verb, resource, server.registry().ambient().clock.now()).object("", name)
}

async fn get(server: &ApiServer, plural: &str, name: &str) -> Object {
    let request = request(server, Verb::Get, plural, name);
    Object::clone(&server.registry().get(&request, &GetOptions::default()).await.unwrap().object())
}

async fn update(server: &ApiServer, plural: &str, object: Object) {
    let request = request(server, Verb::Update, plural, object.name());
    server.registry().update(&request, object).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn roles_get_back_what_they_lack_and_keep_what_was_added_unless_they_are_to_be_left_alone() {
    let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
    let open = StoreSpec::Memory.open(&ambient, &recorder).await.unwrap();
    let start = async || {
        let spec = ApiServerOptions::default();
        ApiServer::start(&spec, Arc::clone(&open.store), Arc::new(NoNodes), &ambient, &recorder).await.unwrap()
    };
    let server = start().await;
    let whole = get(&server, "clusterroles", "system:kube-scheduler").await;
    let own = json!({"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["boats"]});
    let mut role = whole.clone();
    role.set("rules", json!([own]));
    update(&server, "clusterroles", role).await;

    let mut alone = get(&server, "clusterroles", "system:node-proxier").await;
    alone.set("rules", json!([]));
    alone.set(&["metadata", "annotations", AUTOUPDATE], "false");
    update(&server, "clusterroles", alone).await;

    let mut binding = get(&server, "clusterrolebindings", "system:discovery").await;
    let subjects = binding.field("subjects").cloned();
    binding.set("subjects", json!([]));
    update(&server, "clusterrolebindings", binding).await;

    let gone = request(&server, Verb::Delete, "clusterrolebindings", "system:kube-scheduler");
    server.registry().delete(&gone, &DeleteOptions::default()).await.unwrap();
    let untouched = get(&server, "clusterroles", "system:kube-controller-manager").await;
    server.stop().await;

    let server = start().await;
    let role = get(&server, "clusterroles", "system:kube-scheduler").await;
    let rules = role.field("rules").unwrap().as_array().unwrap();
    assert_eq!(rules[0], own);
    assert!(rules.len() > 20, "a rule each for what was missing: {}", rules.len());
    let alone = get(&server, "clusterroles", "system:node-proxier").await;
    assert!(alone.list("rules").is_empty(), "it is to be left alone");
    assert_eq!(get(&server, "clusterrolebindings", "system:discovery").await.field("subjects").cloned(), subjects);
    get(&server, "clusterrolebindings", "system:kube-scheduler").await;
    assert_eq!(get(&server, "clusterroles", "system:kube-controller-manager").await, untouched, "not written again");
    server.stop().await;
}
