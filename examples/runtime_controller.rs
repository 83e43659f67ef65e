//! A controller on Coracle's own runtime, which has client-go's parts: every Deployment gets a Service, and keeps it.
//! Run it: `cargo run -p coracle-examples --bin runtime_controller`.
//!
//! It prints the event log of the controller: the watch event, the delta, the cache, the handler, the key in the queue,
//! and the sync that reads the caches and writes. `kube_controller` is the same controller on kube-rs.

use std::error::Error;

use coracle::Cluster;
use coracle::api::apps_v1::Deployment;
use coracle::api::core_v1::{Service, ServicePort};
use coracle::journal::{EntryId, Recorder, Stage};
use coracle::meta::{ObjectKey, Resource};
use coracle::prelude::*;
use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle::runtime::controller::{controllers_of, key_of, ownership};
use coracle::runtime::{Api, DeleteParams, informer::Lister};
use serde_json::json;

struct Exposer {
    deployments: Lister<Deployment>,
    services: Lister<Service>,
}

impl Reconciler for Exposer {
    /// Looks at what is, in the caches, and writes what is missing. Whatever woke it, it does the same.
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(deployment) = self.deployments.get(key) else { return Ok(Action::Done) };
        if self.services.get(key).is_none() {
            let mut service = Service::default();
            (service.metadata.namespace, service.metadata.name) = (Some(key.namespace.clone()), Some(key.name.clone()));
            service.metadata.owner_references = vec![ownership::controller_reference(deployment.as_ref())];
            service.spec.selector = deployment.spec.template.metadata.labels.clone();
            service.spec.ports = vec![ServicePort { port: 80, ..ServicePort::default() }];
            pass.api().create(&service).await?;
        }
        Ok(Action::Done)
    }
}

async fn story(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let recorder = Recorder::ring(10_000);
    let process = Process::new("exposer", &cluster.api_client(), cluster.ambient(), &recorder);
    let (deployments, services) = (process.informers.informer(), process.informers.informer());
    let exposer = Exposer { deployments: deployments.lister(), services: services.lister() };
    let controller = Controller::new(&process, "services", exposer)
        .watches(&deployments, key_of)
        .watches(&services, |change| controllers_of(change, "Deployment"));
    tokio::spawn(controller.run());
    tokio::spawn(async move { process.run().await });

    let containers = json!([{"name": "web", "image": "nginx"}]);
    let web: Deployment = serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    }))?;
    let services = Api::<Service>::of(&cluster.api_client());
    Api::of(&cluster.api_client()).create(&web).await?;
    cluster.settle().await?;
    let first = services.get(&web.key()).await?;
    services.delete(&web.key(), &DeleteParams::default()).await?;
    cluster.settle().await?;
    assert_ne!(services.get(&web.key()).await?.metadata.uid, first.metadata.uid, "another one under its name");

    let log = recorder.entries(EntryId(0));
    for entry in log.iter().filter(|entry| entry.subject.contains("default/web")) {
        println!("{:>8.1} s  {:<18} {}", entry.at.as_secs_f64(), entry.actor, coracle::viewer::sentence(entry));
    }
    let writes = log.iter().filter(|entry| entry.stage == Stage::SyncEnd && entry.data["writes"] == 1);
    assert_eq!(writes.count(), 2, "a sync writes only where something is missing");
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    coracle::run_virtual(1, story)?
}
