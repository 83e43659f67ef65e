//! A controller counts the creations that its cache has still to show, and waits for them at most five minutes. The
//! watch is later than that, the controller takes the expectation for met, and creates everything again.
//!
//! Found in: kubernetes#129795 (ReplicaSet controller).
//! The fault: `lag` of the pods' watch by six minutes.
//! The fix: no pass over a key before the caches have reached the revision of the controller's own last write
//! (KEP-5647). Here the writes go through the pass, which remembers their revisions. A creation whose answer is lost is
//! not remembered, so the pods have names that follow from their number, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Client;
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::{Lister, Notification};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, is_owned_by, object, objects, owned_by, pod, resource, running,
    watches,
};

const PATIENCE: Duration = Duration::from_secs(300);

/// How many creations the cache has still to show, and until when that counts.
type Expected = Arc<Mutex<BTreeMap<ObjectKey, (usize, Instant)>>>;

struct Groups {
    groups: Lister<Object>,
    pods: Lister<Object>,
    client: Client,
    expected: Expected,
    twin: Twin,
}

impl Reconciler for Groups {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(group) = self.groups.get(key) else { return Ok(Action::Done) };
        if self.twin == Twin::Fixed {
            return self.name(pass, &group).await;
        }
        let pods = objects(&self.client, "Pod");
        let expected = self.expected.lock().get(key).copied().filter(|(left, _)| *left > 0);
        if let Some((_, until)) = expected.filter(|(_, until)| *until > Instant::now()) {
            return Ok(Action::RequeueAfter(until - Instant::now()));
        }
        let there = self.pods.list().iter().filter(|pod| is_owned_by(pod, &group)).count();
        let missing = 3_usize.saturating_sub(there);
        self.expected.lock().insert(key.clone(), (missing, Instant::now() + PATIENCE));
        for _ in 0..missing {
            pods.create(&owned_by(pod("worker-", json!({})), &group)).await?;
        }
        Ok(if missing > 0 { Action::RequeueAfter(PATIENCE) } else { Action::Done })
    }
}

impl Groups {
    /// Creates the pods that are missing by their names.
    async fn name(&self, pass: &Pass, group: &Object) -> Result<Action, ReconcileError> {
        let mut there = self.pods.list();
        there.retain(|pod| is_owned_by(pod, group));
        let names = (0..3).map(|index| format!("worker-{index}"));
        for name in names.filter(|name| !there.iter().any(|pod| pod.name() == *name)) {
            match objects(pass.client(), "Pod").create(&owned_by(pod(&name, json!({})), group)).await {
                // The pod of the last group still exists.
                Err(error) if error.is_already_exists() => return Ok(Action::RequeueAfter(SECOND)),
                created => drop(created?),
            }
        }
        Ok(Action::Done)
    }
}

/// A pod that the cache shows is one that is expected no more.
fn observe(expected: &Expected, change: &Notification<Object>) -> Vec<ObjectKey> {
    let keys = controllers_of(change, "Group");
    if let (Notification::Added { .. }, Some(key)) = (change, keys.first())
        && let Some((left, _)) = expected.lock().get_mut(key)
    {
        *left = left.saturating_sub(1);
    }
    keys
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Group"];
    const WRONG: &'static str = "6 pods instead of 3";

    fn faults() -> Vec<Fault> {
        vec![watches("Pod", "lag", json!("6m"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Group", "workers", json!({}))).await;
        sleep(30 * 60 * SECOND).await;
        match trial.all("Pod").await.len() {
            3 => Ok(()),
            count => Err(format!("{count} pods instead of 3")),
        }
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Group, metadata: {name: workers}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let groups = process.informers.dynamic(&resource("Group"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let (client, expected) = (process.client.clone(), Expected::default());
        let seen = Arc::clone(&expected);
        let reconciler = Groups { groups: groups.lister(), pods: pods.lister(), client, expected, twin };
        let controller = Controller::new(&process, "groups", reconciler)
            .watches(&groups, key_of)
            .watches(&pods, move |change| observe(&seen, change));
        running(process, controller)
    }
}
