//! The search for faults with controllers on kube-rs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coracle::check::Connection;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;

const SAMPLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {size: '1'}}";

struct Context {
    client: Client,
    /// The Secrets that have a ConfigMap, by uid.
    done: Mutex<BTreeSet<String>>,
}

/// Runs a controller that reconciles Secrets.
async fn run<F>(connection: Connection, reconcile: impl FnMut(Arc<Secret>, Arc<Context>) -> F + Send + 'static)
where
    F: Future<Output = Result<Action, kube::Error>> + Send + 'static,
{
    let client = Client::new(connection.service, "default");
    let secrets = Api::<Secret>::default_namespaced(client.clone());
    let context = Arc::new(Context { client, done: Mutex::default() });
    let error_policy = |_, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
    Controller::new(secrets, watcher::Config::default())
        .run(reconcile, error_policy, context)
        .for_each(async |_| ())
        .await;
}

/// It remembers what it has done in its own memory only.
async fn forgets(secret: Arc<Secret>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let uid = secret.uid().unwrap_or_default();
    let maps = Api::<ConfigMap>::default_namespaced(context.client.clone());
    if context.done.lock().contains(&uid) {
        return Ok(Action::await_change());
    }
    let owner = secret.controller_owner_ref(&());
    let metadata = json!({"generateName": format!("{}-", secret.name_any()), "ownerReferences": [owner]});
    let map = serde_json::from_value(json!({"metadata": metadata})).expect("a ConfigMap");
    maps.create(&PostParams::default(), &map).await?;
    context.done.lock().insert(uid);
    Ok(Action::await_change())
}

/// It applies what has to exist.
async fn applies(secret: Arc<Secret>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let maps = Api::<ConfigMap>::default_namespaced(context.client.clone());
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": secret.name_any(), "ownerReferences": [secret.controller_owner_ref(&())]},
    });
    maps.patch(&secret.name_any(), &PatchParams::apply("checked").force(), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

#[test]
fn a_controller_that_remembers_in_its_memory_only_fails_without_a_fault() {
    let report = coracle::check(|connection| run(connection, forgets)).sample(SAMPLE).search().unwrap();
    let words: Vec<&str> = report.without_faults.iter().map(|finding| finding.check.word).collect();
    assert!(words.contains(&"writes-after-restart"), "{report}");
    assert_eq!(report.tried.plans, 0, "no fault is needed");
}

#[test]
fn a_controller_that_applies_what_has_to_exist_survives_faults() {
    let report = coracle::check(|connection| run(connection, applies)).sample(SAMPLE).plans(60).search().unwrap();
    assert!(!report.fails(), "{report}");
    assert!(report.tried.struck > 30, "{report}");
}
