//! A cache is behind the server; a controller must not do twice what it has done already.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::Pod;
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::{Body, BoxError, Cluster, Transport, boxed};
use coracle_journal::{EntryId, Recorder, Stage};
use coracle_meta::Resource;
use http_body_util::{BodyExt, Channel};
use serde_json::json;

use crate::world::until;

const LATE: Duration = Duration::from_millis(40);

/// Lets what a watch says arrive later.
fn late(transport: Transport) -> Transport {
    Transport::to(tower::service_fn(move |request: http::Request<Body>| {
        // Of pods alone: the set's own status comes at once, and with it a sync that does not know its pods yet.
        let uri = request.uri();
        let is_watch = uri.path().ends_with("/pods") && uri.query().is_some_and(|query| query.contains("watch=true"));
        let answer = transport.send(request);
        async move {
            let answer = answer.await?;
            Ok::<_, BoxError>(if is_watch { answer.map(delayed) } else { answer })
        }
    }))
}

fn delayed(mut body: Body) -> Body {
    let (mut sender, delayed) = Channel::<bytes::Bytes, BoxError>::new(1);
    tokio::spawn(async move {
        while let Some(Ok(frame)) = body.frame().await {
            tokio::time::sleep(LATE).await;
            if sender.send(frame).await.is_err() {
                return;
            }
        }
    });
    boxed(delayed)
}

pub(crate) fn web() -> ReplicaSet {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_set_behind_late_watches_makes_no_pod_too_many() {
    let recorder = Recorder::ring(100_000);
    let layer =
        |component: &str, transport| if component == "controller-manager" { late(transport) } else { transport };
    let builder = Cluster::builder().nodes(1).recorder(recorder.clone()).transport_layer(Arc::new(layer));
    let cluster = builder.start().await.unwrap();
    let client = Client::new(cluster.service(), cluster.ambient());
    let pods: Api<Pod> = Api::of(&client).within("default");
    Api::of(&client).create(&web()).await.unwrap();
    let active = async || {
        let pods = pods.list(&ListParams::labels("app=web")).await.unwrap().items;
        pods.into_iter().filter(Pod::is_active).collect::<Vec<_>>()
    };
    until("three pods are there", async || active().await.len() == 3).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    pods.delete(&active().await[0].key(), &DeleteParams::now()).await.unwrap();
    until("three pods are there again", async || active().await.len() == 3).await;
    tokio::time::sleep(Duration::from_secs(5)).await;

    let entries = recorder.entries(EntryId(0));
    let writes = |verb: &str| {
        let by_the_set = |entry: &&coracle_journal::Entry| {
            entry.stage == Stage::SyncWrite
                && entry.actor == "controller-manager/replicaset"
                && entry.data["resource"] == "pods"
                && entry.data["verb"] == verb
        };
        entries.iter().filter(by_the_set).count()
    };
    assert_eq!((writes("create"), writes("delete")), (4, 0));
    assert!(entries.iter().any(|entry| entry.stage == Stage::SyncWaitStale), "nothing was ever late");
}
