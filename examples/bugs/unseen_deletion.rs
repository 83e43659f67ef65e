//! A controller deletes the claim of a pod when it sees that the pod has a deletion timestamp. If the mark and the
//! removal of the pod reach it together, it sees only that the pod is not there, and keeps the claim.
//!
//! Found in: instaclustr cassandra-operator#398.
//! The fault: `hang` of the pods' watch while the pod is deleted.
//! The fix: the decision follows from the state. A claim that had a pod is marked, and is deleted without its pod, however
//! the pod went.

use std::time::Duration;

use coracle::ControllerCheck;
use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, USER, check, first, lasting, object, objects, pod, resource, running,
    watches, when,
};

struct Claims {
    pods: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Claims {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let claims = objects(&self.client, "Claim");
        let Some(claim) = claims.find(key).await? else { return Ok(Action::Done) };
        let is_over = match self.twin {
            Twin::Buggy => self.pods.get(key).is_some_and(|pod| pod.is_terminating()),
            Twin::Fixed => self.is_over(key, &claim).await?,
        };
        if is_over {
            claims.delete(key, &DeleteParams::default().with_uid(claim.uid())).await?;
        }
        Ok(Action::Done)
    }
}

impl Claims {
    /// Whether the pod of a claim goes or is gone. A claim whose pod is there is marked.
    async fn is_over(&self, key: &ObjectKey, claim: &Object) -> Result<bool, ReconcileError> {
        let is_used = claim.field("status.used").is_some();
        let Some(pod) = objects(&self.client, "Pod").find(key).await? else { return Ok(is_used) };
        if !is_used {
            let used = Patch::Merge(json!({"status": {"used": true}}));
            objects(&self.client, "Claim").patch(key, &used).await?;
        }
        Ok(pod.is_terminating())
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
        let _running = Program::start(Self::controller(trial.process(), twin));

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

impl Searched for Example {
    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        check.workload(async |user| {
            user.create("{apiVersion: example.com/v1, kind: Claim, metadata: {name: db-0}}").await?;
            let mut member = pod("db-0", json!({}));
            member.set_finalizers(vec!["example.com/drain".to_owned()]);
            user.create(&member.to_value().to_string()).await?;
            user.settled().await?;
            user.delete("{apiVersion: v1, kind: Pod, metadata: {name: db-0}}").await?;
            sleep(Duration::from_millis(100)).await;
            user.patch("{apiVersion: v1, kind: Pod, metadata: {name: db-0, finalizers: null}}").await
        })
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let pods = process.informers.dynamic(&resource("Pod"));
        let claims = process.informers.dynamic(&resource("Claim"));
        let reconciler = Claims { pods: pods.lister(), client: process.client.clone(), twin };
        let controller =
            Controller::new(&process, "claims", reconciler).watches(&pods, key_of).watches(&claims, key_of);
        running(process, controller)
    }
}
