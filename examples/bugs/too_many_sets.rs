//! A controller creates a child and waits ten seconds until its cache shows it. The cache is later than that, the
//! pass fails, and the next pass finds no child in the cache and creates another.
//!
//! Found in: cluster-api#13649 (four MachineSets of one MachineDeployment instead of one).
//! The fault: `lag` of the children's watch by 15 s.
//! The fix: a name that follows from the owner. A second creation is refused, because the object exists.

use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Client;
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::Lister;
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, is_owned_by, object, objects, owned_by, resource, running, watches,
};

struct Deployments {
    deployments: Lister<Object>,
    sets: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Deployments {
    fn has_set(&self, deployment: &Object) -> bool {
        self.sets.list().iter().any(|set| is_owned_by(set, deployment))
    }
}

impl Reconciler for Deployments {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(deployment) = self.deployments.get(key) else { return Ok(Action::Done) };
        if self.has_set(&deployment) {
            return Ok(Action::Done);
        }
        let name = match self.twin {
            Twin::Buggy => format!("{}-", key.name),
            Twin::Fixed => format!("{}-1", key.name),
        };
        let set = owned_by(object("MachineSet", &name, json!({})), &deployment);
        match objects(&self.client, "MachineSet").create(&set).await {
            Err(error) if !error.is_already_exists() => return Err(error.into()),
            _ => {}
        }
        for _ in 0..100 {
            sleep(Duration::from_millis(100)).await;
            if self.has_set(&deployment) {
                return Ok(Action::Done);
            }
        }
        Err(ReconcileError::Object("the cache does not show the set after ten seconds".to_owned()))
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["MachineDeployment", "MachineSet"];
    const WRONG: &'static str = "2 sets instead of one";

    fn faults() -> Vec<Fault> {
        vec![watches("MachineSet", "lag", json!("15s"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("MachineDeployment", "web", json!({}))).await;
        sleep(120 * SECOND).await;
        match trial.all("MachineSet").await.len() {
            1 => Ok(()),
            count => Err(format!("{count} sets instead of one")),
        }
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: MachineDeployment, metadata: {name: web}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let deployments = process.informers.dynamic(&resource("MachineDeployment"));
        let sets = process.informers.dynamic(&resource("MachineSet"));
        let client = process.client.clone();
        let reconciler = Deployments { deployments: deployments.lister(), sets: sets.lister(), client, twin };
        let controller = Controller::new(&process, "deployments", reconciler)
            .watches(&deployments, key_of)
            .watches(&sets, |change| controllers_of(change, "MachineDeployment"));
        running(process, controller)
    }
}
