//! A controller creates the claims of an instance, and then its pod. If a claim exists already, it takes that for
//! success. A claim of the last instance that is still terminating exists, too: it goes soon, and the pod waits for
//! it.
//!
//! Found in: cloudnative-pg#10985, fixed by cloudnative-pg#11017.
//! The fault: `slow` by five seconds of the write that frees one of two claims.
//! The fix: a claim that is terminating is an error, and the pass is repeated.

use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Client;
use coracle::runtime::controller::{Action, Controller, Pass, ReconcileError, Reconciler, controllers_of, key_of};
use coracle::runtime::informer::Lister;
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Trial, Twin, USER, check, first, key, object, objects, owned_by, pod, resource, strike,
};

const CLAIMS: [&str; 2] = ["db-data", "db-wal"];

struct Instances {
    instances: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Instances {
    async fn create_claim(&self, name: &str) -> Result<(), ReconcileError> {
        let claims = objects(&self.client, "PersistentVolumeClaim");
        let storage = json!({"requests": {"storage": "1Gi"}});
        let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": storage}});
        match claims.create(&object("PersistentVolumeClaim", name, claim)).await {
            Err(error) if !error.is_already_exists() => return Err(error.into()),
            _ => {}
        }
        let is_terminating = claims.get(&key(name)).await?.is_terminating();
        if is_terminating && self.twin == Twin::Fixed {
            return Err(ReconcileError::Object(format!("the claim {name} of the last instance is terminating")));
        }
        Ok(())
    }
}

impl Reconciler for Instances {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(instance) = self.instances.get(key) else { return Ok(Action::Done) };
        let pods = objects(&self.client, "Pod");
        if pods.find(key).await?.is_some() {
            return Ok(Action::Done);
        }
        for name in CLAIMS {
            self.create_claim(name).await?;
        }
        pods.create(&owned_by(pod(&key.name, json!({})), &instance)).await?;
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Instance"];
    const WRONG: &'static str = "the pod is there, and a claim of it is not";

    fn faults() -> Vec<Fault> {
        let mut second = first(USER, "patch", "PersistentVolumeClaim");
        second.nth = 2;
        vec![strike(second, "slow", "5s")]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let process = trial.process();
        let instances = process.informers.dynamic(&resource("Instance"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let reconciler = Instances { instances: instances.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "instances", reconciler)
            .watches(&instances, key_of)
            .watches(&pods, |change| controllers_of(change, "Instance"));
        let _running = Program::of(process, controller);

        trial.create(object("Instance", "db", json!({}))).await;
        sleep(SECOND).await;
        trial.delete("Instance", "db").await;
        trial.delete("Pod", "db").await;
        for name in CLAIMS {
            trial.delete("PersistentVolumeClaim", name).await;
        }
        // What the controller of claim protection does when no pod uses a claim.
        let free = async {
            for name in CLAIMS {
                trial.patch("PersistentVolumeClaim", name, json!({"metadata": {"finalizers": null}})).await;
            }
        };
        let again = async {
            sleep(Duration::from_millis(100)).await;
            trial.create(object("Instance", "db", json!({}))).await;
        };
        tokio::join!(biased; free, again);
        sleep(60 * SECOND).await;
        let mut are_there = trial.find("Pod", "db").await.is_some();
        for name in CLAIMS {
            are_there &= trial.find("PersistentVolumeClaim", name).await.is_some();
        }
        check(are_there, Self::WRONG)
    }
}
