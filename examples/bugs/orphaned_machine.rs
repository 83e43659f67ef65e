//! A controller creates an object of the infrastructure, and then the machine that names it. If the machine cannot be
//! created, it deletes the object again. If that fails, too, the next pass creates another object under another
//! generated name, and nothing names the first.
//!
//! Found in: cluster-api#13812 (by a crash between the two creations).
//! The fault: `refuse: 500` of the creation of the machine, and of the deletion that cleans up.
//! The fix: a name that follows from the machine, so that the next pass finds the object.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{Bug, OPERATOR, Program, SECOND, Trial, Twin, check, first, object, objects, resource, strike};

struct Pools {
    pools: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Pools {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let (machines, disks) = (objects(&self.client, "Machine"), objects(&self.client, "Disk"));
        if self.pools.get(key).is_none() || machines.find(key).await?.is_some() {
            return Ok(Action::Done);
        }
        let name = match self.twin {
            Twin::Buggy => format!("{}-", key.name),
            Twin::Fixed => key.name.clone(),
        };
        let disk = match disks.create(&object("Disk", &name, json!({}))).await {
            Err(error) if error.is_already_exists() => disks.get(key).await?,
            other => other?,
        };
        let machine = object("Machine", &key.name, json!({"spec": {"disk": disk.name()}}));
        if let Err(error) = machines.create(&machine).await {
            disks.delete(&disk.key(), &DeleteParams::default()).await?;
            return Err(error.into());
        }
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Pool", "Machine", "Disk"];
    const WRONG: &'static str = "a disk that no machine names";

    fn faults() -> Vec<Fault> {
        let create = strike(first(OPERATOR, "create", "Machine"), "refuse", 500);
        vec![create, strike(first(OPERATOR, "delete", "Disk"), "refuse", 500)]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let process = trial.process();
        let pools = process.informers.dynamic(&resource("Pool"));
        let reconciler = Pools { pools: pools.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "pools", reconciler).watches(&pools, key_of);
        let _running = Program::of(process, controller);

        trial.create(object("Pool", "gpu", json!({}))).await;
        sleep(60 * SECOND).await;
        let machines = trial.all("Machine").await;
        let is_named = |disk: &Object| machines.iter().any(|machine| machine.text("spec.disk") == disk.name());
        check(trial.all("Disk").await.iter().all(is_named), Self::WRONG)
    }
}
