//! Jobs by the clock.

use std::collections::BTreeSet;
use std::time::Duration;

use coracle_api::batch_v1::{CronJob, Job};
use coracle_client::{ListParams, Patch};
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};

use crate::world::{World, until};

/// A Job whose pods end after so long.
fn work(after: &str) -> Value {
    let template = json!({
        "metadata": {"annotations": {"coracle.dev/exit-code": "0", "coracle.dev/exit-after": after}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "work:1"}]},
    });
    json!({"template": template})
}

async fn cron(world: &World, after: &str, mut spec: Value) {
    spec["jobTemplate"] = json!({"spec": work(after)});
    world.create::<CronJob>(json!({"metadata": {"name": "often", "namespace": "default"}, "spec": spec})).await;
}

fn key() -> ObjectKey {
    ObjectKey::new("default", "often")
}

async fn jobs(world: &World) -> Vec<Job> {
    world.api::<Job>().within("default").list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn each_minute_has_its_job_and_old_ones_go() {
    let world = World::with_nodes(1).await;
    cron(&world, "1s", json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 2})).await;
    let mut seen = BTreeSet::new();
    for _ in 0..330 {
        seen.extend(jobs(&world).await.iter().map(Resource::key));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!((5..=6).contains(&seen.len()), "five and a half minutes: {seen:?}");
    until("all but two are gone and none runs", async || {
        let status = world.api::<CronJob>().get(&key()).await.unwrap().status;
        let has_rest = status.active.is_empty() && status.last_successful_time > status.last_schedule_time;
        has_rest && jobs(&world).await.len() == 2
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn concurrency_policy_forbid_waits_and_replace_does_not() {
    let world = World::with_nodes(1).await;
    cron(&world, "1h", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"})).await;
    until("there is one", async || !jobs(&world).await.is_empty()).await;
    tokio::time::sleep(Duration::from_secs(180)).await;
    let first = jobs(&world).await;
    assert_eq!(first.len(), 1);
    let replace = Patch::Merge(json!({"spec": {"concurrencyPolicy": "Replace"}}));
    world.api::<CronJob>().patch(&key(), &replace).await.unwrap();
    let is_replaced = async || {
        let jobs = jobs(&world).await;
        jobs.len() == 1 && jobs[0].key() != first[0].key()
    };
    until("another runs in its place", is_replaced).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_schedule_begins_with_its_next_time_and_in_its_time_zone() {
    let world = World::with_nodes(0).await;
    cron(&world, "1s", json!({"schedule": "0 0 29 2 *", "timeZone": "Asia/Kolkata"})).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    let often = Patch::Merge(json!({"spec": {"schedule": "* * * * *"}}));
    world.api::<CronJob>().patch(&key(), &often).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(jobs(&world).await.is_empty(), "what it would have missed is not made up for");
    until("its next minute comes", async || !jobs(&world).await.is_empty()).await;
    let job = &jobs(&world).await[0];
    let scheduled = &job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"];
    assert!(scheduled.ends_with(":00+05:30"), "{scheduled}");
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_when_its_time_after_the_end_is_over() {
    let world = World::with_nodes(1).await;
    let mut spec = work("1s");
    spec["ttlSecondsAfterFinished"] = 30.into();
    world.create::<Job>(json!({"metadata": {"name": "short", "namespace": "default"}, "spec": spec})).await;
    let complete = async || jobs(&world).await.iter().any(|job| job.status.completion_time.is_some());
    until("it is complete", complete).await;
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(jobs(&world).await.len(), 1);
    until("it is gone with its pod", async || jobs(&world).await.is_empty() && world.pods().await.is_empty()).await;
}
