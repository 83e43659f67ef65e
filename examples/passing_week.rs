//! A test that lets a week pass: a controller renews certificates a day before they end, and does not run when one of
//! them ends.
//! Run it: `cargo test -p coracle-examples passing_week -- --nocapture`.
//!
//! In virtual time a week takes as long as the work in it. Here that is a renewal every other day and a look each hour:
//! eight days take two seconds. A node would add eight seconds a day in a debug build, with leases and reports.

use std::sync::Arc;
use std::time::Duration;

use coracle::Cluster;
use coracle::prelude::*;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const LIFETIME: Duration = Duration::from_hours(72);
const ENDS: &str = "example.com/ends";

/// Time since the test began, on the clock that may be paused: `std::time` would say that no time has passed.
struct World(Client, Instant);

/// When a certificate ends, counted from the beginning of the test.
fn end(secret: &Secret) -> Duration {
    Duration::from_secs(secret.annotations().get(ENDS).and_then(|end| end.parse().ok()).unwrap_or(0))
}

fn hour(time: Duration) -> u64 {
    time.as_secs() / HOUR.as_secs()
}

async fn reconcile(secret: Arc<Secret>, world: Arc<World>) -> Result<Action, kube::Error> {
    let (now, end) = (world.1.elapsed(), end(&secret));
    if now + DAY < end {
        return Ok(Action::requeue(end - DAY - now));
    }
    println!("  hour {}: {} ends in hour {} and is renewed", hour(now), secret.name_any(), hour(end));
    let renewed = json!({"metadata": {"annotations": {ENDS: (now + LIFETIME).as_secs().to_string()}}});
    let secrets = Api::<Secret>::default_namespaced(world.0.clone());
    secrets.patch(&secret.name_any(), &PatchParams::default(), &Patch::Merge(&renewed)).await?;
    Ok(Action::await_change())
}

fn start(world: &Arc<World>) -> AbortHandle {
    let secrets = Api::<Secret>::default_namespaced(world.0.clone());
    let controller = Controller::new(secrets, watcher::Config::default().labels("is=certificate"));
    let controller = controller.run(reconcile, |_, _, _| Action::requeue(HOUR), world.clone());
    tokio::spawn(controller.for_each(async |_| ())).abort_handle()
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_renewed_all_week_and_at_once_when_its_controller_was_dead_over_its_end() {
    let cluster = Cluster::builder().start().await.unwrap();
    let world = Arc::new(World(cluster.client(), Instant::now()));
    let secrets = Api::<Secret>::default_namespaced(cluster.client());
    let new = serde_json::from_value(json!({"metadata": {"name": "tls", "labels": {"is": "certificate"}}})).unwrap();
    secrets.create(&PostParams::default(), &new).await.unwrap();
    let left = async || end(&secrets.get("tls").await.unwrap()).saturating_sub(world.1.elapsed());
    let controller = start(&world);
    for hour in 1..=5 * 24 {
        sleep(HOUR).await;
        assert!(left().await > DAY - HOUR, "hour {hour}");
    }
    println!("after five days the controller dies, and is started again three days later");
    controller.abort();
    sleep(3 * DAY).await;
    assert!(left().await.is_zero(), "no controller renewed it");
    start(&world);
    sleep(Duration::from_secs(1)).await;
    assert!(left().await > 2 * DAY);
}
