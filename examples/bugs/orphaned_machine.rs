//! A controller creates an object of the infrastructure, and then the machine that names it. If the machine cannot be
//! created, it deletes the object again. If it crashes between the two creations, the next pass creates another object
//! under another generated name, and nothing names the first.
//!
//! Found in: cluster-api#13812.
//! The fault: `kill` of the controller when the object of the infrastructure is created.
//! The fix: a name that follows from the machine, so that the next pass finds the object.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Trial, Twin, check, first, landed, lasting, object, objects, of_component, resource, when,
};

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
        vec![lasting(0, when(landed(first(OPERATOR, "create", "Disk")), of_component(OPERATOR, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.operate(move |process| {
            let pools = process.informers.dynamic(&resource("Pool"));
            let reconciler = Pools { pools: pools.lister(), client: process.client.clone(), twin };
            Controller::new(process, "pools", reconciler).watches(&pools, key_of)
        });
        trial.create(object("Pool", "gpu", json!({}))).await;
        sleep(60 * SECOND).await;
        let machines = trial.all("Machine").await;
        let is_named = |disk: &Object| machines.iter().any(|machine| machine.text("spec.disk") == disk.name());
        check(trial.all("Disk").await.iter().all(is_named), Self::WRONG)
    }
}
