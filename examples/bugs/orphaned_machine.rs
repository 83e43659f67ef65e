//! A controller creates an object of the infrastructure, and then the machine that names it. If the machine cannot be
//! created, it deletes the object again. If it crashes between the two creations, the next pass creates another object
//! under another generated name, and nothing names the first.
//!
//! Found in: cluster-api#13812.
//! The fault: `kill` of the controller when the object of the infrastructure is created.
//! The fix: a name that follows from the machine, so that the next pass finds the object.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Searched, Trial, Twin, check, first, is_owned_by, landed, lasting, object, objects,
    of_component, owned_by, resource, running, when,
};

struct Pools {
    pools: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Pools {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let (machines, disks) = (objects(&self.client, "Machine"), objects(&self.client, "Disk"));
        let Some(pool) = self.pools.get(key) else { return Ok(Action::Done) };
        if machines.find(key).await?.is_some() {
            return Ok(Action::Done);
        }
        let name = match self.twin {
            Twin::Buggy => format!("{}-", key.name),
            Twin::Fixed => key.name.clone(),
        };
        let disk = match disks.create(&owned_by(object("Disk", &name, json!({})), &pool)).await {
            Err(error) if error.is_already_exists() => disks.get(key).await?,
            other => other?,
        };
        if !is_owned_by(&disk, &pool) {
            return Err(ReconcileError::Object("the disk of the last pool exists".to_owned()));
        }
        let machine = owned_by(object("Machine", &key.name, json!({"spec": {"disk": disk.name()}})), &pool);
        if let Err(error) = machines.create(&machine).await {
            // The answer may be lost, and the machine there.
            if machines.find(key).await?.is_none() {
                disks.delete(&disk.key(), &DeleteParams::default()).await?;
            }
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
        trial.operate(move |process| Self::controller(process, twin));
        trial.create(object("Pool", "gpu", json!({}))).await;
        sleep(60 * SECOND).await;
        let machines = trial.all("Machine").await;
        let is_named = |disk: &Object| machines.iter().any(|machine| machine.text("spec.disk") == disk.name());
        check(trial.all("Disk").await.iter().all(is_named), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Pool, metadata: {name: gpu}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let pools = process.informers.dynamic(&resource("Pool"));
        let reconciler = Pools { pools: pools.lister(), client: process.client.clone(), twin };
        let machines = process.informers.dynamic(&resource("Machine"));
        let controller = Controller::new(&process, "pools", reconciler)
            .watches(&pools, key_of)
            .watches(&machines, |change| controllers_of(change, "Pool"));
        running(process, controller)
    }
}
