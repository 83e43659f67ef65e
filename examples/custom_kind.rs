//! A custom kind with a status, on kube-rs: a Website has a number of replicas, and reports how many of them are ready.
//! Run it: `cargo run -p coracle-examples --bin custom_kind`.
//!
//! A user writes the desired state into `spec`, and the controller writes the observed state into `status`. The status
//! is a subresource, so a write to one does not change the other. `observedGeneration` is the `spec` that was observed.

use std::sync::Arc;
use std::time::Duration;

use coracle::Cluster;
use coracle::prelude::*;
use futures_util::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Website", namespaced, status = "WebsiteStatus")]
struct WebsiteSpec {
    replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WebsiteStatus {
    ready: i32,
    observed_generation: Option<i64>,
}

/// Applies what the `spec` asks for, and reports what the Deployment has come to.
async fn reconcile(site: Arc<Website>, context: Arc<(Api<Website>, Api<Deployment>)>) -> Result<Action, kube::Error> {
    let (sites, deployments) = context.as_ref();
    let name = site.name_any();
    let pod = json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "web"}]}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "ownerReferences": [site.controller_owner_ref(&())]},
        "spec": {"replicas": site.spec.replicas, "selector": {"matchLabels": {"app": name}}, "template": pod},
    });
    let owned = deployments.patch(&name, &PatchParams::apply("websites"), &Patch::Apply(deployment)).await?;
    let ready = owned.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    println!("  reconcile {name}: {ready} of {} are ready", site.spec.replicas);
    let status = json!({"status": WebsiteStatus { ready, observed_generation: site.metadata.generation }});
    sites.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(Action::await_change())
}

async fn story(cluster: &Cluster) -> Result<(), kube::Error> {
    let client = cluster.client();
    Api::all(client.clone()).create(&PostParams::default(), &Website::crd()).await?;
    cluster.settle().await.unwrap(); // the API server serves the kind after a moment
    let sites = Api::<Website>::default_namespaced(client.clone());
    let deployments = Api::<Deployment>::default_namespaced(client);
    let controller = Controller::new(sites.clone(), watcher::Config::default())
        .owns(deployments.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new((sites.clone(), deployments)))
        .for_each(async |_| ());
    tokio::spawn(controller);

    println!("a Website of three replicas is created");
    sites.create(&PostParams::default(), &Website::new("blog", WebsiteSpec { replicas: 3 })).await?;
    cluster.settle().await.unwrap();
    println!("a user sets one replica, and claims that 99 are ready");
    let claim = json!({"spec": {"replicas": 1}, "status": {"ready": 99}});
    let patched = sites.patch("blog", &PatchParams::default(), &Patch::Merge(claim)).await?;
    assert_eq!(patched.status.map(|status| status.ready), Some(3), "only the status subresource writes the status");
    cluster.settle().await.unwrap();
    let status = sites.get("blog").await?.status.map(|status| (status.ready, status.observed_generation));
    assert_eq!(status, Some((1, Some(2))), "one is ready, says the controller of the second spec");
    Ok(())
}

pub(crate) fn main() -> Result<(), kube::Error> {
    coracle::run_virtual(1, story).expect("the cluster starts")
}
