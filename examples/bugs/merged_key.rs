//! A group is a leader and a worker, and is created as a whole again when its worker is lost. The controller deletes
//! the leader when it sees no worker. If the worker is deleted and created again under its name while the watch
//! hangs, both changes are one key in the queue, the worker is there, and the leader belongs to the old one.
//!
//! Found in: lws#998, fixed by lws#999.
//! The fault: `hang` of the pods' watch for one second.
//! The fix: the leader records the uid of its worker.

use std::time::Duration;

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle::runtime::informer::Lister;
use coracle::runtime::{Client, DeleteParams};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, Program, SECOND, Searched, Trial, Twin, USER, check, first, key, lasting, objects, pod, resource, running,
    watches, when,
};

struct Groups {
    pods: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Groups {
    async fn reconcile(&self, _: &Pass, _: &ObjectKey) -> Result<Action, ReconcileError> {
        let pods = objects(&self.client, "Pod");
        let (leader, worker) = (self.pods.get(&key("leader")), self.pods.get(&key("worker")));
        match (leader, worker) {
            (Some(leader), worker) => {
                let is_lost = match self.twin {
                    Twin::Buggy => worker.is_none_or(|worker| worker.is_terminating()),
                    Twin::Fixed => worker.is_none_or(|worker| leader.label("worker") != Some(worker.uid())),
                };
                if is_lost {
                    let params = DeleteParams::now().with_uid(leader.uid());
                    pods.delete(&leader.key(), &params).await?;
                }
            }
            (None, Some(worker)) => {
                pods.create(&pod("leader", json!({"worker": worker.uid()}))).await?;
            }
            (None, None) => {}
        }
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &[];
    const WRONG: &'static str = "the worker is another one, and the leader is the same";

    fn faults() -> Vec<Fault> {
        vec![lasting(1, when(first(USER, "delete", "Pod"), watches("Pod", "hang", json!({}))))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(pod("worker", json!({}))).await;
        sleep(SECOND).await;
        let before = trial.find("Pod", "leader").await.unwrap();
        trial.delete("Pod", "worker").await;
        sleep(Duration::from_millis(20)).await;
        trial.create(pod("worker", json!({}))).await;
        sleep(60 * SECOND).await;
        let after = trial.find("Pod", "leader").await.unwrap();
        check(before.uid() != after.uid(), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: v1, kind: Pod, metadata: {name: worker}, spec: {containers: [{name: main, image: 'main:1'}]}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let pods = process.informers.dynamic(&resource("Pod"));
        let reconciler = Groups { pods: pods.lister(), client: process.client.clone(), twin };
        let controller = Controller::new(&process, "groups", reconciler).watches(&pods, |_| vec![key("group")]);
        running(process, controller)
    }
}
