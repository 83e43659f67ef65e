//! A watch ends while an object is deleted. The list that follows reveals that the object is missing, and the handler
//! receives a tombstone: the last known state, which is not that of the deletion. The handler expects an object of
//! the watch, and skips what it does not know. What belonged to the object stays.
//!
//! Found in: many handlers that do not expect `cache.DeletedFinalStateUnknown`, for example calico#12793 and
//! antrea#7568, which panic.
//! The fault: `gone` (410) for the watch while an object is deleted.
//! The fix: a tombstone has a key, and the pass needs no more.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::{Lister, Notification};
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, USER, check, first, object, objects, resource, running, watches, when,
};

/// Gives each workload an address.
struct Addresses {
    workloads: Lister<Object>,
    client: Client,
}

impl Reconciler for Addresses {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let addresses = objects(&self.client, "Address");
        let there = addresses.find(key).await?.is_some();
        match (self.workloads.get(key), there) {
            (Some(_), false) => drop(addresses.create(&object("Address", &key.name, json!({}))).await?),
            (None, true) => drop(addresses.delete(key, &DeleteParams::default()).await?),
            (Some(_), true) | (None, false) => {}
        }
        Ok(Action::Done)
    }
}

fn handle(twin: Twin, change: &Notification<Object>) -> Vec<ObjectKey> {
    match change {
        Notification::Deleted { observed: false, .. } if twin == Twin::Buggy => Vec::new(),
        _ => key_of(change),
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Workload", "Address"];
    const WRONG: &'static str = "the address of a workload that is gone is not free";

    fn faults() -> Vec<Fault> {
        vec![when(first(USER, "delete", "Workload"), watches("Workload", "gone", json!({})))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Workload", "web", json!({}))).await;
        sleep(SECOND).await;
        trial.delete("Workload", "web").await;
        sleep(60 * SECOND).await;
        check(trial.find("Address", "web").await.is_none(), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Workload, metadata: {name: web}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let workloads = process.informers.dynamic(&resource("Workload"));
        let reconciler = Addresses { workloads: workloads.lister(), client: process.client.clone() };
        let controller = Controller::new(&process, "addresses", reconciler)
            .watches(&workloads, move |change| handle(twin, change))
            .watches(&process.informers.dynamic(&resource("Address")), key_of);
        running(process, controller)
    }
}
