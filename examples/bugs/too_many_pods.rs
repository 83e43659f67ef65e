//! A controller subtracts the pods in its cache from the pods that it wants, creates the difference, and deletes what
//! is too many. While its cache lags behind its own creations, it creates them again; then it deletes pods that run.
//!
//! Found in: kuberay#715, and again in grove#122.
//! The fault: `lag` of the pods' watch by 20 ms.
//! The fix: no pass over a key before the caches show what the last pass wrote. Here the writes go through the pass,
//! which remembers them. In Kubernetes: expectations, and since 1.35 the consistency checks of KEP-5647. A creation whose
//! answer is lost is not remembered, so the pods have names that follow from their number, too.

use std::sync::Arc;
use std::time::Duration;

use coracle::ControllerCheck;
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
    Bug, Program, SECOND, Searched, Trial, Twin, check, is_owned_by, object, objects, owned_by, pod, resource, running,
    watches,
};

struct Groups {
    groups: Lister<Object>,
    pods: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Groups {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(group) = self.groups.get(key) else { return Ok(Action::Done) };
        let mut there = self.pods.list();
        there.retain(|pod| is_owned_by(pod, &group));
        let wanted = group.number("spec.replicas").and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
        match self.twin {
            Twin::Buggy => self.count(&group, &there, wanted).await,
            Twin::Fixed => name(pass, &group, &there, wanted).await,
        }
    }
}

impl Groups {
    /// Creates as many pods as are missing, and deletes as many as are too many.
    async fn count(&self, group: &Object, there: &[Arc<Object>], wanted: usize) -> Result<Action, ReconcileError> {
        let pods = objects(&self.client, "Pod");
        for _ in there.len()..wanted {
            pods.create(&owned_by(pod("worker-", json!({})), group)).await?;
        }
        for extra in there.iter().skip(wanted) {
            pods.delete(&extra.key(), &DeleteParams::now()).await?;
        }
        Ok(Action::Done)
    }
}

/// Creates the pods that are missing by their names, and deletes the others.
async fn name(pass: &Pass, group: &Object, there: &[Arc<Object>], wanted: usize) -> Result<Action, ReconcileError> {
    let pods = objects(pass.client(), "Pod");
    let names: Vec<String> = (0..wanted).map(|index| format!("worker-{index}")).collect();
    for name in names.iter().filter(|name| !there.iter().any(|pod| pod.name() == **name)) {
        match pods.create(&owned_by(pod(name, json!({})), group)).await {
            // The cache is late, or the pod of the last group still exists.
            Err(error) if error.is_already_exists() => return Ok(Action::RequeueAfter(SECOND)),
            created => drop(created?),
        }
    }
    for extra in there.iter().filter(|pod| !names.iter().any(|name| pod.name() == *name)) {
        pods.delete(&extra.key(), &DeleteParams::now().with_uid(extra.uid())).await?;
    }
    Ok(Action::Done)
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Group"];
    const WRONG: &'static str = "more than 3 pods at one moment";

    fn faults() -> Vec<Fault> {
        vec![watches("Pod", "lag", json!("20ms"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Group", "workers", json!({"spec": {"replicas": 3}}))).await;
        for _ in 0..100 {
            sleep(Duration::from_millis(2)).await;
            check(trial.all("Pod").await.len() <= 3, Self::WRONG)?;
        }
        Ok(())
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Group, metadata: {name: workers}, spec: {replicas: 3}}"];

    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        // The change of the sample is one pod more.
        let owned = "pods.filter(p, p.metadata.ownerReferences.exists(o, o.uid == g.metadata.uid))";
        check.never("a group has more than 4 pods", &format!("groups.exists(g, {owned}.size() > 4)"))
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let groups = process.informers.dynamic(&resource("Group"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let client = process.client.clone();
        let reconciler = Groups { groups: groups.lister(), pods: pods.lister(), client, twin };
        let controller = Controller::new(&process, "groups", reconciler)
            .watches(&groups, key_of)
            .watches(&pods, |change| controllers_of(change, "Group"));
        running(process, controller)
    }
}
