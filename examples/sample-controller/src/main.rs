//! The controller of every client-go tutorial, on Coracle's informers and work queues.
//!
//! ```text
//! informer --add, update, delete--> queue.add(key) --> run_worker --> process_next_item --> sync_to_stdout
//!                                        ^-- add_rate_limited, five times -- handle_err <------/ on error
//! ```
//! Without arguments it starts a cluster in its own process and gives it something to do; with `--kubeconfig FILE` it
//! watches the pods of that cluster until it is interrupted.

mod controller;

use std::path::Path;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::Pod;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::Cluster;
use coracle_informer::InformerFactory;
use coracle_journal::Recorder;
use coracle_meta::Resource;
use serde_json::json;

use crate::controller::Controller;

type Error = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => in_process().await,
        ["--kubeconfig", path] => elsewhere(Path::new(path)).await,
        _ => Err("usage: sample-controller [--kubeconfig FILE]".into()),
    }
}

/// Watches a cluster that runs somewhere else.
async fn elsewhere(kubeconfig: &Path) -> Result<(), Error> {
    let ambient = Ambient::system();
    let client = Client::new(Kubeconfig::read(kubeconfig)?.connect()?, &ambient);
    let factory = InformerFactory::new(&client, &ambient, Recorder::off(), "sample-controller");
    let controller = Controller::new(&factory);
    tokio::join!(biased; factory.run(), controller.run(1));
    Ok(())
}

/// Watches a cluster in this process while three replicas start and one of them is deleted.
async fn in_process() -> Result<(), Error> {
    let cluster = Cluster::builder().nodes(2).start().await?;
    let client = Client::new(cluster.service(), cluster.ambient());
    let factory = InformerFactory::new(&client, cluster.ambient(), Recorder::off(), "sample-controller");
    let controller = Controller::new(&factory);
    let watching = controller.clone();
    tokio::spawn(async move { factory.run().await });
    let working = tokio::spawn(async move { watching.run(1).await });
    something_to_do(&client).await?;
    controller.stop();
    working.await?;
    cluster.shutdown().await;
    Ok(())
}

async fn something_to_do(client: &Client) -> Result<(), Error> {
    let pause = Duration::from_secs(3);
    let web: ReplicaSet = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    }))?;
    Api::of(client).create(&web).await?;
    tokio::time::sleep(pause).await;
    let pods: Api<Pod> = Api::of(client).within("default");
    if let Some(pod) = pods.list(&ListParams::labels("app=web")).await?.items.first() {
        println!("--- deleting pod {}", pod.key());
        pods.delete(&pod.key(), &DeleteParams::now()).await?;
    }
    tokio::time::sleep(pause).await;
    Ok(())
}
