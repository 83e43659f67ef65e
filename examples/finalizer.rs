//! A finalizer on kube-rs: a ConfigMap stands for a bucket outside the cluster, and is removed only after its bucket.
//! Run it: `cargo run -p coracle-examples --bin finalizer`.
//!
//! A deletion in Kubernetes is a request: the API server sets `deletionTimestamp`, and the object exists as long as its
//! list of finalizers has an entry. The controller cleans up first, and removes its finalizer afterwards. After a crash
//! in between it cleans up twice, so it must not be an error to clean up what is gone.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use coracle::Cluster;
use coracle::prelude::*;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, Event};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

/// The way to the API, and the buckets of the world outside the cluster.
type Context = (Client, Mutex<BTreeSet<String>>);

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, finalizer::Error<kube::Error>> {
    let (client, buckets) = context.as_ref();
    let maps = Api::default_namespaced(client.clone());
    // Adds the finalizer before anything is made outside, and takes it out when the clean-up has succeeded.
    finalizer::finalizer(&maps, "example.com/bucket", map, async |event| {
        match event {
            Event::Apply(map) => {
                let made = buckets.lock().insert(map.name_any());
                println!("  reconcile {}: the bucket {}", map.name_any(), if made { "is made" } else { "is there" });
            }
            Event::Cleanup(map) => {
                sleep(Duration::from_secs(10)).await;
                buckets.lock().remove(&map.name_any());
                println!("  reconcile {}: the bucket is gone", map.name_any());
            }
        }
        Ok(Action::await_change())
    })
    .await
}

async fn story(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let maps = Api::<ConfigMap>::default_namespaced(cluster.client());
    let context = Arc::<Context>::new((cluster.client(), Mutex::default()));
    let bucket_exists = || context.1.lock().contains("logs");
    let controller = Controller::new(maps.clone(), watcher::Config::default().labels("is=bucket"))
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), context.clone())
        .for_each(async |_| ());
    tokio::spawn(controller);

    println!("an object is created");
    let logs = serde_json::from_value(json!({"metadata": {"name": "logs", "labels": {"is": "bucket"}}}))?;
    maps.create(&PostParams::default(), &logs).await?;
    cluster.settle().await?;
    assert_eq!(maps.get("logs").await?.finalizers(), ["example.com/bucket"]);
    assert!(bucket_exists());

    println!("it is deleted");
    maps.delete("logs", &DeleteParams::default()).await?;
    sleep(Duration::from_secs(5)).await;
    assert!(maps.get("logs").await?.metadata.deletion_timestamp.is_some(), "it waits for its finalizer");
    assert!(bucket_exists());
    cluster.settle().await?;
    assert!(maps.get_opt("logs").await?.is_none() && !bucket_exists());
    println!("neither the object nor its bucket exists");
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    coracle::run_virtual(1, story)?
}
