//! What the world shows of a cluster is what the API serves.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_cluster::{Cluster, boxed};
use coracle_sim::{InvariantAnswer, World};
use http::Request;
use tower::ServiceExt;

#[tokio::test(start_paused = true)]
async fn an_object_with_data_as_its_writer_wrote_it_is_in_the_world() {
    let cluster = Cluster::builder().api_server_only().ambient(Ambient::seeded(1)).start().await.unwrap();
    let world = World::new(cluster.store(), "default", Arc::new(|_, _| None), Vec::new());
    let follower = tokio::spawn({
        let world = world.clone();
        async move { world.follow().await }
    });
    let revision = r#"{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "web-1"},
        "data": { "spec" :  {"a": 1} }, "revision": 1}"#;
    let request = Request::post("/apis/apps/v1/namespaces/default/controllerrevisions")
        .header("content-type", "application/json")
        .body(boxed(revision.to_owned()))
        .unwrap();
    let response = cluster.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 201);
    let seen = world.until_seen(Duration::from_secs(1), |cluster| {
        match cluster.object("apps/v1", "ControllerRevision", "default", "web-1") {
            Some(object) if object.field("data.spec.a").is_some() => Ok(()),
            found => Err(InvariantAnswer::Unanswerable(format!("{found:?}"))),
        }
    });
    seen.await.unwrap();
    follower.abort();
    cluster.shutdown().await;
}
