//! A controller counts finished pods in three steps: it notes a pod in the status, removes the pod's finalizer, and
//! adds the noted pods to the count. The change of the status wakes it while its cache of pods still shows the
//! finalizer, and it counts the pod again.
//!
//! Found in: kubernetes#105200 (Job controller, `uncountedTerminatedPods`).
//! The fault: `lag` of the pods' watch, and not of the other kind's.
//! The fix: no pass before the cache of pods shows the removal. Here the writes go through the pass, which remembers
//! them.

use coracle::ControllerCheck;
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
    Bug, Program, SECOND, Searched, Trial, Twin, check, is_owned_by, key, object, objects, owned_by, pod, resource,
    running, watches,
};

const FINALIZER: &str = "example.com/tracking";

struct Batches {
    batches: Lister<Object>,
    pods: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Batches {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(batch) = self.batches.get(key) else { return Ok(Action::Done) };
        let client = match self.twin {
            Twin::Buggy => &self.client,
            Twin::Fixed => pass.client(),
        };
        let (batches, pods) = (objects(client, "Batch"), objects(client, "Pod"));
        let mut finished = self.pods.list();
        finished.retain(|pod| is_owned_by(pod, &batch) && pod.text("status.phase") == "Succeeded");
        finished.retain(|pod| pod.finalizers().iter().any(|name| name == FINALIZER));

        let mut noted = batch.texts("status.uncounted");
        noted.extend(finished.iter().map(|pod| pod.uid().to_owned()));
        noted.sort_unstable();
        noted.dedup();
        if noted.is_empty() {
            return Ok(Action::Done);
        }
        batches.patch(key, &Patch::Merge(json!({"status": {"uncounted": noted}}))).await?;
        for pod in &finished {
            pods.patch(&pod.key(), &Patch::Merge(json!({"metadata": {"finalizers": null}}))).await?;
        }
        let succeeded = batch.number("status.succeeded").unwrap_or_default() + i64::try_from(noted.len()).unwrap_or(0);
        let status = json!({"status": {"uncounted": [], "succeeded": succeeded}});
        batches.patch(key, &Patch::Merge(status)).await?;
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Batch"];
    const WRONG: &'static str = "one finished pod counts more than once";

    fn faults() -> Vec<Fault> {
        vec![watches("Pod", "lag", json!("50ms"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        let batch = trial.create(object("Batch", "night", json!({}))).await;
        let mut work = owned_by(pod("night-1", json!({})), &batch);
        work.set_finalizers(vec![FINALIZER.to_owned()]);
        trial.create(work).await;
        let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
        trial.of("Pod").patch_status(&key("night-1"), &done).await.unwrap();
        sleep(60 * SECOND).await;
        let batch = trial.find("Batch", "night").await.unwrap();
        check(batch.number("status.succeeded") == Some(1), Self::WRONG)
    }
}

impl Searched for Example {
    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        check.workload(async |user| {
            user.create("{apiVersion: example.com/v1, kind: Batch, metadata: {name: night}}").await?;
            user.settled().await?;
            let batch = objects(user.client(), "Batch").get(&key("night")).await?;
            let mut work = owned_by(pod("night-1", json!({})), &batch);
            work.set_finalizers(vec![FINALIZER.to_owned()]);
            user.create(&work.to_value().to_string()).await?;
            user.patch_status("{apiVersion: v1, kind: Pod, metadata: {name: night-1}, status: {phase: Succeeded}}")
                .await
        })
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let batches = process.informers.dynamic(&resource("Batch"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let client = process.client.clone();
        let reconciler = Batches { batches: batches.lister(), pods: pods.lister(), client, twin };
        let controller = Controller::new(&process, "batches", reconciler)
            .watches(&batches, key_of)
            .watches(&pods, |change| controllers_of(change, "Batch"));
        running(process, controller)
    }
}
