//! A controller deletes the claim of a pod when it sees that the pod has a deletion timestamp. If the mark and the
//! removal of the pod reach it together, it sees only that the pod is not there, and keeps the claim.
//!
//! Found in: instaclustr cassandra-operator#398.
//! The fault: `hang` of the pods' watch while the pod is deleted.
//! The fix: the decision follows from the state. A claim without its pod is deleted, however the pod went.

use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Trial, Twin, USER, check, first, lasting, object, objects, pod, resource, watches, when,
};

struct Claims {
    pods: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Claims {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let pod = self.pods.get(key);
        let is_over = match self.twin {
            Twin::Buggy => pod.is_some_and(|pod| pod.is_terminating()),
            Twin::Fixed => pod.is_none_or(|pod| pod.is_terminating()),
        };
        let claims = objects(&self.client, "Claim");
        if is_over && claims.find(key).await?.is_some() {
            claims.delete(key, &DeleteParams::default()).await?;
        }
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Claim"];
    const WRONG: &'static str = "the claim is there, and its pod is gone";

    fn faults() -> Vec<Fault> {
        vec![lasting(10, when(first(USER, "delete", "Pod"), watches("Pod", "hang", json!({}))))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let process = trial.process();
        let pods = process.informers.dynamic(&resource("Pod"));
        let reconciler = Claims { pods: pods.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "claims", reconciler).watches(&pods, key_of);
        let _running = Program::of(process, controller);

        trial.create(object("Claim", "db-0", json!({}))).await;
        let mut member = pod("db-0", json!({}));
        member.set_finalizers(vec!["example.com/drain".to_owned()]);
        trial.create(member).await;
        sleep(SECOND).await;
        trial.delete("Pod", "db-0").await;
        sleep(Duration::from_millis(100)).await;
        trial.patch("Pod", "db-0", json!({"metadata": {"finalizers": null}})).await;
        sleep(60 * SECOND).await;
        check(trial.find("Claim", "db-0").await.is_none(), Self::WRONG)
    }
}
