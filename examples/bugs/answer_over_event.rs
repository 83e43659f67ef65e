//! A controller writes the answer of each of its writes into its cache, so that the next pass sees it. If the answer
//! is slow, it replaces a newer state that the watch has brought in the meantime. No further event comes, and the
//! controller acts on the old state for ever.
//!
//! Found in: argo-rollouts#4073 and argo-rollouts#3316, fixed by argo-rollouts#4786.
//! The fault: a slow answer (50 ms) to the write of the status, while a user changes the object.
//! The fix: an answer replaces only an older version.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Notification;
use coracle::runtime::{Client, Patch};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, Program, SECOND, Searched, Trial, Twin, check, first, object, objects, resource, running, strike,
};

type Cache = Arc<Mutex<BTreeMap<ObjectKey, Object>>>;

struct Rollouts {
    cache: Cache,
    client: Client,
    twin: Twin,
}

fn version(object: &Object) -> u64 {
    object.resource_version().parse().unwrap_or_default()
}

impl Rollouts {
    fn remember(&self, answer: Object) {
        let mut cache = self.cache.lock();
        let cached = cache.get(&answer.key()).map_or(0, version);
        if self.twin == Twin::Buggy || version(&answer) > cached {
            cache.insert(answer.key(), answer);
        }
    }
}

impl Reconciler for Rollouts {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(rollout) = self.cache.lock().get(key).cloned() else { return Ok(Action::Done) };
        let is_paused = rollout.field("spec.paused").and_then(serde_json::Value::as_bool).unwrap_or_default();
        let phase = if is_paused { "Paused" } else { "Running" };
        if rollout.text("status.phase") != phase {
            let patch = Patch::Merge(json!({"status": {"phase": phase}}));
            self.remember(objects(&self.client, "Rollout").patch(key, &patch).await?);
        }
        Ok(Action::Done)
    }
}

fn cached(change: &Notification<Object>, cache: &Cache) -> Vec<ObjectKey> {
    match change {
        Notification::Deleted { object, .. } => drop(cache.lock().remove(&object.key())),
        Notification::Added { .. } | Notification::Updated { .. } => {
            cache.lock().insert(change.object().key(), change.object().as_ref().clone());
        }
    }
    key_of(change)
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Rollout"];
    const WRONG: &'static str = "the phase is Paused, and alice has unpaused the rollout";

    fn faults() -> Vec<Fault> {
        let mut paused = first(OPERATOR, "patch", "Rollout");
        paused.nth = 2;
        vec![strike(paused, "slow", json!({"answer": "50ms"}))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Rollout", "web", json!({"spec": {"paused": false}}))).await;
        sleep(SECOND).await;
        trial.patch("Rollout", "web", json!({"spec": {"paused": true}})).await;
        sleep(Duration::from_millis(20)).await;
        trial.patch("Rollout", "web", json!({"spec": {"paused": false}})).await;
        sleep(60 * SECOND).await;
        let rollout = trial.find("Rollout", "web").await.unwrap();
        check(rollout.text("status.phase") == "Running", Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Rollout, metadata: {name: web}, spec: {paused: false}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let rollouts = process.informers.dynamic(&resource("Rollout"));
        let (cache, client) = (Cache::default(), process.client.clone());
        let seen = Arc::clone(&cache);
        let controller = Controller::new(&process, "rollouts", Rollouts { cache, client, twin })
            .watches(&rollouts, move |change| cached(change, &seen));
        running(process, controller)
    }
}
