//! A controller writes the time of its last pass into the status. The write is a change of its object, and wakes it.
//!
//! Found in: strimzi-kafka-operator#13079, kratix#743, crossplane#7221 (`lastTransitionTime` at each pass).
//! The fault: none. A test that only waits for the condition does not see it.
//! The fix: the time changes with the condition.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Patch;
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::Lister;
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{Bug, Program, SECOND, Searched, Trial, Twin, check, object, objects, resource, running};

struct Topics {
    topics: Lister<Object>,
    process: Process,
    twin: Twin,
}

impl Reconciler for Topics {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(topic) = self.topics.get(key) else { return Ok(Action::Done) };
        if self.twin == Twin::Fixed && topic.text("status.ready") == "True" {
            return Ok(Action::Done);
        }
        let now = self.process.ambient.clock.now().to_string();
        let status = json!({"status": {"ready": "True", "lastTransitionTime": now}});
        objects(&self.process.client, "Topic").patch(key, &Patch::Merge(status)).await?;
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Topic"];
    const WRONG: &'static str = "the controller writes again and again";

    fn faults() -> Vec<Fault> {
        Vec::new()
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Topic", "orders", json!({}))).await;
        sleep(SECOND / 5).await;
        let settled = trial.find("Topic", "orders").await.unwrap();
        sleep(SECOND / 10).await;
        let later = trial.find("Topic", "orders").await.unwrap();
        check(settled.resource_version() == later.resource_version(), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &["{apiVersion: example.com/v1, kind: Topic, metadata: {name: orders}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let topics = process.informers.dynamic(&resource("Topic"));
        let reconciler = Topics { topics: topics.lister(), process: process.clone(), twin };
        let controller = Controller::new(&process, "topics", reconciler).watches(&topics, key_of);
        running(process, controller)
    }
}
