//! A controller adds its finalizer to a new object and then sets its status, in the branch for objects without a
//! finalizer. If it crashes after the first write, the next pass finds the finalizer, does not enter the branch, and
//! the status is never set.
//!
//! Found in: kratix#741.
//! The fault: `kill` of the controller when the finalizer is set.
//! The fix: each write depends on what it writes, and not on the other.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Searched, Trial, Twin, check, first, landed, lasting, object, objects, of_component,
    resource, running, when,
};

struct Promises {
    promises: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Promises {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(promise) = self.promises.get(key) else { return Ok(Action::Done) };
        let promises = objects(&self.client, "Promise");
        if promise.is_terminating() {
            let free = json!({"metadata": {"uid": promise.uid(), "finalizers": null}});
            promises.patch(key, &Patch::Merge(free)).await?;
            return Ok(Action::Done);
        }
        let is_new = promise.finalizers().is_empty();
        if is_new {
            let finalizer = json!({"metadata": {"finalizers": ["example.com/clean-up"]}});
            promises.patch(key, &Patch::Merge(finalizer)).await?;
        }
        let is_unreported = match self.twin {
            Twin::Buggy => is_new,
            Twin::Fixed => promise.text("status.phase").is_empty(),
        };
        if is_unreported {
            promises.patch(key, &Patch::Merge(json!({"status": {"phase": "Available"}}))).await?;
        }
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Promise"];
    const WRONG: &'static str = "the promise has no status";

    fn faults() -> Vec<Fault> {
        vec![lasting(0, when(landed(first(OPERATOR, "patch", "Promise")), of_component(OPERATOR, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.operate(move |process| Self::controller(process, twin));
        trial.create(object("Promise", "redis", json!({}))).await;
        sleep(60 * SECOND).await;
        let promise = trial.find("Promise", "redis").await.unwrap();
        check(promise.text("status.phase") == "Available", Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Promise, metadata: {name: redis}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let promises = process.informers.dynamic(&resource("Promise"));
        let reconciler = Promises { promises: promises.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "promises", reconciler).watches(&promises, key_of);
        running(process, controller)
    }
}
