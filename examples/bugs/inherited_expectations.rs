//! A controller keeps its expectations by name. An object is deleted and created again under the same name while the
//! creation of its pod is on its way. The second object inherits the expectation, and the pod that would meet it
//! belongs to the first: the second never gets a pod.
//!
//! Found in: kubernetes#142142 (Job controller), fixed by kubernetes#142247.
//! The fault: `slow` by one second of the pod's creation.
//! The fix: expectations by uid.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::{Lister, Notification};
use coracle::runtime::{Client, ListParams};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, Program, SECOND, Searched, Trial, Twin, check, first, is_owned_by, object, objects, owned_by, pod,
    resource, running, strike,
};

struct Batches {
    batches: Lister<Object>,
    pods: Lister<Object>,
    client: Client,
    /// How many creations the cache has still to show.
    expected: Mutex<BTreeMap<String, usize>>,
    twin: Twin,
}

impl Batches {
    fn expected_by(&self, batch: &Object) -> String {
        match self.twin {
            Twin::Buggy => batch.name().to_owned(),
            Twin::Fixed => batch.uid().to_owned(),
        }
    }

    /// A pod in the cache meets an expectation of the batch that owns it.
    fn observe(&self, change: &Notification<Object>) -> Vec<ObjectKey> {
        let keys = controllers_of(change, "Batch");
        let owner = keys.first().and_then(|key| self.batches.get(key));
        if let (Notification::Added { object, .. }, Some(owner)) = (change, owner)
            && is_owned_by(object, &owner)
            && let Some(left) = self.expected.lock().get_mut(&self.expected_by(&owner))
        {
            *left = left.saturating_sub(1);
        }
        keys
    }
}

/// The controller; its handler uses the same state.
struct Worker(Arc<Batches>);

impl Reconciler for Worker {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Self(state) = self;
        let Some(batch) = state.batches.get(key) else {
            state.expected.lock().remove(&key.name);
            return Ok(Action::Done);
        };
        let expected_by = state.expected_by(&batch);
        let waits = state.expected.lock().get(&expected_by).is_some_and(|left| *left > 0);
        if waits || state.pods.list().iter().any(|pod| is_owned_by(pod, &batch)) {
            return Ok(Action::Done);
        }
        let pods = objects(&state.client, "Pod");
        // The answer to an earlier creation may be lost, and the cache late.
        if pods.list(&ListParams::default()).await?.items.iter().any(|pod| is_owned_by(pod, &batch)) {
            return Ok(Action::Done);
        }
        state.expected.lock().insert(expected_by.clone(), 1);
        let created = pods.create(&owned_by(pod("run-", json!({})), &batch)).await;
        if created.is_err() {
            state.expected.lock().remove(&expected_by);
        }
        created?;
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Batch"];
    const WRONG: &'static str = "the second batch has no pod";

    fn faults() -> Vec<Fault> {
        vec![strike(first(OPERATOR, "create", "Pod"), "slow", "1s")]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Batch", "night", json!({}))).await;
        sleep(Duration::from_millis(500)).await;
        trial.delete("Batch", "night").await;
        let second = trial.create(object("Batch", "night", json!({}))).await;
        sleep(60 * SECOND).await;
        check(trial.all("Pod").await.iter().any(|pod| is_owned_by(pod, &second)), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Batch, metadata: {name: night}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let batches = process.informers.dynamic(&resource("Batch"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let (client, expected) = (process.client.clone(), Mutex::default());
        let state = Batches { batches: batches.lister(), pods: pods.lister(), client, expected, twin };
        let state = Arc::new(state);
        let observer = Arc::clone(&state);
        let controller = Controller::new(&process, "batches", Worker(state))
            .watches(&batches, key_of)
            .watches(&pods, move |change| observer.observe(change));
        running(process, controller)
    }
}
