//! To make a claim larger, a controller deletes the set that uses it, updates the claim, and creates the set again
//! with the new size. If it crashes before the update, the next pass finds no set, creates one with the new size, and
//! finds nothing else to do: it compares the size of the set only, and the claim stays small.
//!
//! Found in: rabbitmq cluster-operator#782.
//! The fault: `kill` of the controller when the set is deleted.
//! The fix: the decision follows from the claim's own size.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::{Lister, Notification};
use coracle::runtime::{Client, DeleteParams, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, SECOND, Searched, Trial, Twin, check, first, landed, lasting, object, objects, of_component,
    owned_by, resource, running, when,
};

struct Clusters {
    clusters: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Clusters {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(cluster) = self.clusters.get(key) else { return Ok(Action::Done) };
        let (sets, claims) = (objects(&self.client, "Set"), objects(&self.client, "Claim"));
        let storage = json!({"spec": {"storage": cluster.number("spec.storage")}});
        let (set, claim) = (sets.find(key).await?, claims.find(key).await?);
        let is_other = |object: &Object| object.number("spec.storage") != cluster.number("spec.storage");
        let resizes = match self.twin {
            Twin::Buggy => set.as_ref().is_some_and(is_other),
            Twin::Fixed => claim.as_ref().is_some_and(is_other),
        };
        if resizes && set.is_some() {
            sets.delete(key, &DeleteParams::default()).await?;
        }
        if resizes {
            claims.patch(key, &Patch::Merge(storage.clone())).await?;
        }
        if claim.is_none() {
            claims.create(&owned_by(object("Claim", &key.name, storage.clone()), &cluster)).await?;
        }
        if resizes || set.is_none() {
            sets.create(&owned_by(object("Set", &key.name, storage), &cluster)).await?;
        }
        Ok(Action::Done)
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Cluster", "Set", "Claim"];
    const WRONG: &'static str = "the claim stays at 10";

    fn faults() -> Vec<Fault> {
        vec![lasting(0, when(landed(first(OPERATOR, "delete", "Set")), of_component(OPERATOR, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.operate(move |process| Self::controller(process, twin));
        trial.create(object("Cluster", "queue", json!({"spec": {"storage": 10}}))).await;
        sleep(SECOND).await;
        trial.patch("Cluster", "queue", json!({"spec": {"storage": 15}})).await;
        sleep(60 * SECOND).await;
        let claim = trial.find("Claim", "queue").await.unwrap();
        check(claim.number("spec.storage") == Some(15), Self::WRONG)
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Cluster, metadata: {name: queue}, spec: {storage: 10}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let clusters = process.informers.dynamic(&resource("Cluster"));
        let reconciler = Clusters { clusters: clusters.lister(), client: process.client.clone(), twin };
        let of_cluster = |change: &Notification<Object>| controllers_of(change, "Cluster");
        let controller = Controller::new(&process, "clusters", reconciler)
            .watches(&clusters, key_of)
            .watches(&process.informers.dynamic(&resource("Set")), of_cluster)
            .watches(&process.informers.dynamic(&resource("Claim")), of_cluster);
        running(process, controller)
    }
}
