//! A source changes while a controller deploys the last change and waits for its health. The handler cancels the
//! pass, and adds the key only if the cached object is at another revision. The cancelled pass does not ask to be
//! repeated. If the cache of the controller's own kind lags, the key is dropped, and the newest revision is never
//! deployed.
//!
//! Found in: kustomize-controller#1624, "not possible to reproduce in envtest". Fixed by kustomize-controller#1625.
//! The fault: `lag` of the own kind's watch by one second.
//! The fix: a cancelled pass is repeated.

use std::sync::Arc;
use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Client;
use coracle::runtime::Patch;
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::{Lister, Notification};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, check, key, object, objects, resource, running, watches,
};

struct Syncs {
    sources: Lister<Object>,
    client: Client,
    changed: Arc<Notify>,
    twin: Twin,
}

impl Reconciler for Syncs {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        // A change during the patch cancels the pass, too.
        let changed = self.changed.notified();
        let Some(source) = self.sources.get(key) else { return Ok(Action::Done) };
        let revision = source.text("spec.revision");
        let syncs = objects(&self.client, "Sync");
        // Here the objects of the source are applied.
        syncs.patch(key, &Patch::Merge(json!({"status": {"deployed": revision}}))).await?;
        let is_cancelled = timeout(3 * SECOND, changed).await.is_ok();
        match self.twin {
            Twin::Fixed if is_cancelled => Ok(Action::Requeue),
            Twin::Buggy | Twin::Fixed => Ok(Action::Done),
        }
    }
}

/// A new revision cancels the pass, and is deployed unless it is deployed already.
fn dispatch(change: &Notification<Object>, syncs: &Lister<Object>, changed: &Notify) -> Vec<ObjectKey> {
    let source = change.object();
    let Some(sync) = syncs.get(&source.key()) else { return key_of(change) };
    changed.notify_waiters();
    if sync.text("status.deployed") == source.text("spec.revision") { Vec::new() } else { key_of(change) }
}

/// A change of its own status is no reason to deploy.
fn is_new(change: &Notification<Object>) -> Vec<ObjectKey> {
    if matches!(change, Notification::Added { .. }) { key_of(change) } else { Vec::new() }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Source", "Sync"];
    const WRONG: &'static str = "revision 2 is deployed, and the source is at revision 1 again";

    fn faults() -> Vec<Fault> {
        vec![watches("Sync", "lag", json!("1s"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Sync", "app", json!({}))).await;
        trial.create(object("Source", "app", json!({"spec": {"revision": "1"}}))).await;
        sleep(10 * SECOND).await;
        trial.patch("Source", "app", json!({"spec": {"revision": "2"}})).await;
        sleep(Duration::from_millis(500)).await;
        trial.patch("Source", "app", json!({"spec": {"revision": "1"}})).await;
        sleep(60 * SECOND).await;
        let sync = trial.of("Sync").get(&key("app")).await.unwrap();
        check(sync.text("status.deployed") == "1", Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Source, metadata: {name: app}, spec: {revision: '1'}}"];
    const GIVEN: Option<&'static str> = Some("{apiVersion: example.com/v1, kind: Sync, metadata: {name: app}}");

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let sources = process.informers.dynamic(&resource("Source"));
        let syncs = process.informers.dynamic(&resource("Sync"));
        let (client, changed) = (process.client.clone(), Arc::new(Notify::new()));
        let (cancel, own) = (Arc::clone(&changed), syncs.lister());
        let reconciler = Syncs { sources: sources.lister(), client, changed, twin };
        let controller = Controller::new(&process, "syncs", reconciler)
            .watches(&sources, move |change| dispatch(change, &own, &cancel))
            .watches(&syncs, is_new);
        running(process, controller)
    }
}
