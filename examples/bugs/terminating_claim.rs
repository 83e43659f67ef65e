//! A controller creates the claims of an instance, and then its pod. If a claim exists already, it takes that for
//! success. A claim of the last instance that is still terminating exists, too: it goes soon, and the pod waits for
//! it.
//!
//! Found in: cloudnative-pg#10985, fixed by cloudnative-pg#11017.
//! The fault: `slow` by five seconds of the write that frees one of two claims.
//! The fix: a claim that is terminating is an error, and the pass is repeated.

use std::time::Duration;

use coracle::ControllerCheck;
use coracle::check::Connection;
use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, USER, check, first, key, object, objects, owned_by, pod, resource,
    running, strike,
};

const CLAIMS: [&str; 2] = ["db-data", "db-wal"];

struct Instances {
    instances: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Instances {
    async fn create_claim(&self, name: &str, instance: &Object) -> Result<(), ReconcileError> {
        let claims = objects(&self.client, "PersistentVolumeClaim");
        let storage = json!({"requests": {"storage": "1Gi"}});
        let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": storage}});
        match claims.create(&owned_by(object("PersistentVolumeClaim", name, claim), instance)).await {
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
            self.create_claim(name, &instance).await?;
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
        let _running = Program::start(Self::controller(trial.process(), twin));

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

/// Frees claims that are deleted, as the controller of claim protection does when no pod uses them.
struct Protection {
    claims: Lister<Object>,
    client: Client,
}

impl Reconciler for Protection {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        if self.claims.get(key).is_some_and(|claim| claim.is_terminating()) {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            match objects(&self.client, "PersistentVolumeClaim").patch(key, &free).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(Action::Done)
    }
}

async fn protect(process: Process) {
    let claims = process.informers.dynamic(&resource("PersistentVolumeClaim"));
    let protection = Protection { claims: claims.lister(), client: process.client.clone() };
    let controller = Controller::new(&process, "protection", protection).watches(&claims, key_of);
    running(process, controller).await;
}

impl Searched for Example {
    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        let instance = || object("Instance", "db", json!({})).to_value().to_string();
        let protection = |connection: Connection| {
            let Connection { ambient, recorder, .. } = &connection;
            protect(Process::new("protection", &connection.client(), ambient, recorder))
        };
        check.part("protection", protection).workload(async move |user| {
            user.create(&instance()).await?;
            user.settled().await?;
            user.delete(&instance()).await?;
            user.delete(&pod("db", json!({})).to_value().to_string()).await?;
            for name in CLAIMS {
                user.delete(&object("PersistentVolumeClaim", name, json!({})).to_value().to_string()).await?;
            }
            sleep(Duration::from_millis(100)).await;
            user.create(&instance()).await
        })
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let instances = process.informers.dynamic(&resource("Instance"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let reconciler = Instances { instances: instances.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "instances", reconciler)
            .watches(&instances, key_of)
            .watches(&pods, |change| controllers_of(change, "Instance"));
        running(process, controller)
    }
}
