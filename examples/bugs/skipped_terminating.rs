//! A controller removes a finalizer when nothing uses the object any more. Its handler skips objects that the first
//! list shows as terminating, because a handler of additions expects new objects. If the object and its user are
//! deleted while the controller does not run, no event concerns them, and the object keeps its finalizer for ever.
//!
//! Found in: kubernetes#132334 (resource claim controller).
//! The fault: `kill` of the controller for five seconds in which the object and its user are deleted.
//! The fix: the first list is a state like any other.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle::runtime::informer::{Lister, Notification};
use coracle::runtime::{Client, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Searched, Trial, Twin, USER, check, first, key, lasting, object, objects, of_component, pod,
    resource, running, when,
};

struct Claims {
    claims: Lister<Object>,
    pods: Lister<Object>,
    client: Client,
}

impl Reconciler for Claims {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return Ok(Action::Done) };
        let is_used = self.pods.list().iter().any(|pod| pod.label("claim") == Some(&key.name));
        if claim.is_terminating() && !is_used {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            objects(&self.client, "Claim").patch(key, &free).await?;
        }
        Ok(Action::Done)
    }
}

fn handle(twin: Twin, change: &Notification<Object>) -> Vec<ObjectKey> {
    match change {
        Notification::Added { object, .. } if twin == Twin::Buggy && object.is_terminating() => Vec::new(),
        _ => key_of(change),
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Claim"];
    const WRONG: &'static str = "the claim is terminating, and nothing uses it";

    fn faults() -> Vec<Fault> {
        vec![lasting(5, when(first(USER, "delete", "Claim"), of_component(OPERATOR, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.operate(move |process| Self::controller(process, twin));
        let mut claim = object("Claim", "data", json!({}));
        claim.set_finalizers(vec!["example.com/in-use".to_owned()]);
        trial.create(claim).await;
        trial.create(pod("web", json!({"claim": "data"}))).await;
        sleep(SECOND).await;
        trial.delete("Claim", "data").await;
        trial.delete("Pod", "web").await;
        sleep(120 * SECOND).await;
        check(trial.find("Claim", "data").await.is_none(), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] = &[
        "{apiVersion: example.com/v1, kind: Claim, metadata: {name: data, finalizers: [example.com/in-use]}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {claim: data}}, spec: {containers: [{name: main, image: 'main:1'}]}}",
    ];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let claims = process.informers.dynamic(&resource("Claim"));
        let pods = process.informers.dynamic(&resource("Pod"));
        let client = process.client.clone();
        let reconciler = Claims { claims: claims.lister(), pods: pods.lister(), client };
        let controller = Controller::new(&process, "claims", reconciler)
            .watches(&claims, move |change| handle(twin, change))
            .watches(&pods, |change| change.object().label("claim").map(key).into_iter().collect());
        running(process, controller)
    }
}
