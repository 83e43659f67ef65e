//! Pods that run to their end.

use std::collections::BTreeSet;
use std::time::Duration;

use coracle_api::batch_v1::Job;
use coracle_api::core_v1::Pod;
use coracle_client::{DeleteParams, Patch, Propagation};
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};

use crate::world::{World, until};

const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A Job whose pods end after a second with this code.
async fn job(world: &World, code: &str, mut spec: Value) -> Job {
    spec["template"] = json!({
        "metadata": {"annotations": {"coracle.dev/exit-code": code, "coracle.dev/exit-after": "1s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "work:1"}]},
    });
    world.create(json!({"metadata": {"name": "work", "namespace": "default"}, "spec": spec})).await
}

fn key() -> ObjectKey {
    ObjectKey::new("default", "work")
}

async fn ended(world: &World, how: &str) -> Job {
    let jobs = world.api::<Job>();
    let said = |job: &Job| job.status.conditions.iter().any(|one| one.type_ == how && one.status == "True");
    until(&format!("the Job is {how}"), async || said(&jobs.get(&key()).await.unwrap())).await;
    jobs.get(&key()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_when_enough_pods_have_and_no_pod_is_held_any_more() {
    let world = World::with_nodes(1).await;
    job(&world, "0", json!({"completions": 7, "parallelism": 3})).await;
    let job = ended(&world, "Complete").await;
    assert_eq!((job.status.succeeded, job.status.failed), (7, 0));
    let pods = world.pods().await;
    assert_eq!(pods.len(), 7);
    assert!(pods.iter().all(|pod| pod.metadata.finalizers.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn each_failure_is_waited_after_until_there_are_too_many() {
    let world = World::with_nodes(1).await;
    let began = tokio::time::Instant::now();
    job(&world, "1", json!({"backoffLimit": 2})).await;
    let job = ended(&world, "Failed").await;
    assert_eq!(job.status.failed, 3);
    assert_eq!(world.pods().await.len(), 3);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(30) && took < Duration::from_secs(45), "10 s and 20 s between: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_retries_an_index_up_to_its_limit_and_others_continue() {
    let world = World::with_nodes(1).await;
    let spec = json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1});
    job(&world, "0", spec).await;
    let first = async || world.pods().await.into_iter().find(|pod| pod.name().starts_with("work-0-"));
    until("there is a pod", async || first().await.is_some()).await;
    // The pods of index 0 fail, each before it would have succeeded.
    let fail = Patch::Merge(json!({"metadata": {"annotations": {"coracle.dev/exit-code": "1"}}}));
    let failing = async {
        let mut seen = BTreeSet::new();
        while seen.len() < 2 {
            for pod in world.pods().await.iter().filter(|pod| pod.name().starts_with("work-0-")) {
                if seen.insert(pod.key()) {
                    world.api::<Pod>().patch(&pod.key(), &fail).await.unwrap();
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (job, ()) = tokio::join!(ended(&world, "Failed"), failing);
    assert_eq!((job.status.completed_indexes.as_str(), job.status.failed_indexes.as_deref()), ("1", Some("0")));
    assert_eq!((job.status.succeeded, job.status.failed), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_deleted_job_have_no_finalizer() {
    let world = World::with_nodes(0).await;
    job(&world, "0", json!({"parallelism": 2, "completions": 2})).await;
    let held = async || world.pods().await.iter().filter(|pod| pod.metadata.finalizers == [FINALIZER]).count();
    until("there are two pods", async || held().await == 2).await;
    world.api::<Job>().delete(&key(), &DeleteParams::propagating(Propagation::Orphan)).await.unwrap();
    until("they are let go", async || held().await == 0).await;
    assert_eq!(world.pods().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_of_another_controller_is_left_alone() {
    let world = World::with_nodes(1).await;
    job(&world, "0", json!({"managedBy": "example.com/mine"})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.pods().await.is_empty());
    assert_eq!(world.api::<Job>().get(&key()).await.unwrap().status, Default::default());
}
