//! A controller on kube-rs: every Deployment gets a Service of its name, and keeps it.
//! Run it: `cargo run -p coracle-examples --bin kube_controller`.
//!
//! `reconcile` gets the name of a Deployment, and not what happened to it. It applies the desired state, so the same
//! lines are correct after a creation, after a deletion of the Service, and after a restart.
//! `runtime_controller` is the same controller on Coracle's own runtime.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use coracle::{Cluster, prelude::*};
use futures_util::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, Resource, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

const MINUTE: Duration = Duration::from_secs(60);

/// Applies the Service of a Deployment. Where it is there already and the same, this changes nothing.
async fn reconcile(deployment: Arc<Deployment>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let name = deployment.name_any();
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        // The garbage collector deletes it after its owner. Its changes cause a reconcile of the owner.
        "metadata": {"name": name, "ownerReferences": [deployment.controller_owner_ref(&())]},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
    });
    let services = Api::<Service>::default_namespaced(client.as_ref().clone());
    let service = services.patch(&name, &PatchParams::apply("exposer").force(), &Patch::Apply(service)).await?;
    println!("  reconcile {name}: the Service has the uid {}", service.uid().unwrap_or_default());
    Ok(Action::await_change())
}

async fn story(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let client = cluster.client();
    let deployments = Api::<Deployment>::default_namespaced(client.clone());
    let services = Api::<Service>::default_namespaced(client.clone());
    let controller = Controller::new(deployments.clone(), watcher::Config::default())
        .owns(services.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(client))
        .for_each(async |_| ());
    tokio::spawn(controller);
    let made = async || timeout(MINUTE, await_condition(services.clone(), "web", conditions::is_created())).await;
    let gone = async |uid| timeout(MINUTE, await_condition(services.clone(), "web", conditions::is_deleted(uid))).await;

    println!("a Deployment is created");
    let containers = json!([{"name": "web", "image": "nginx"}]);
    let web = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    }))?;
    deployments.create(&PostParams::default(), &web).await?;
    let first = made().await??.and_then(|service| service.uid()).ok_or("no Service")?;

    println!("a user deletes its Service");
    services.delete("web", &DeleteParams::default()).await?;
    gone(&first).await??;
    let second = made().await??.and_then(|service| service.uid()).ok_or("no Service")?;
    assert_ne!(first, second, "another Service under the same name");

    println!("the Deployment is deleted, and the garbage collector deletes the Service");
    deployments.delete("web", &DeleteParams::default()).await?;
    gone(&second).await??;
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    coracle::run_virtual(1, story)?
}
