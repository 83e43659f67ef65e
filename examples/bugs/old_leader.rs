//! A leader sends a write that takes a minute, and stalls. In the meantime its lease expires, and another leader
//! writes. Then the write of the old leader lands, and undoes the new one's. Leader election alone does not prevent
//! that.
//!
//! Found in: cilium#42920.
//! The fault: `slow` by one minute of a write of the leader, and `pause` of the leader from then on.
//! The fix: a new leader first changes what it will write, and each write has the version of the leader's last one as
//! its precondition. The old leader's write is refused.

use std::future::pending;

use coracle::ControllerCheck;
use coracle::api::coordination_v1::Lease;
use coracle::journal::Recorder;
use coracle::runtime::Api;
use coracle::runtime::controller::{Ended, LeaderElection, LeaderTimings, Process, lead};
use coracle::runtime::{Client, Error, Patch};
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, SECOND, Searched, Trial, Twin, check, first, key, object, objects, of_component, strike, when,
};

/// What a leader does: after ten seconds it writes that it leads.
async fn work(client: Client, leader: &str, twin: Twin) -> Result<(), Error> {
    let routes = objects(&client, "Route");
    match twin {
        Twin::Buggy => {
            sleep(10 * SECOND).await;
            routes.patch(&key("main"), &Patch::Merge(json!({"spec": {"by": leader}}))).await?;
        }
        Twin::Fixed => {
            let mut route = routes.get(&key("main")).await?;
            route.set("spec.next", leader);
            let route = routes.update(&route).await?;
            sleep(10 * SECOND).await;
            let write = json!({"metadata": {"resourceVersion": route.resource_version()}, "spec": {"by": leader}});
            routes.patch(&key("main"), &Patch::Merge(write)).await?;
        }
    }
    Ok(())
}

async fn candidate(process: Process, twin: Twin) {
    let election = LeaderElection::new(&process, "router", key("router"), LeaderTimings::default());
    let (client, leader) = (process.client.clone(), election.identity().to_owned());
    let leading = async move {
        // A leader that fails waits until its lease is over.
        let _ = work(client, &leader, twin).await;
        pending().await
    };
    let led = lead(Some(election), pending(), leading);
    let (Ended::Asked | Ended::LeadershipLost, ()) = tokio::join!(biased; led, async { process.run().await });
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Route"];
    const WRONG: &'static str = "the route is not the leader's";

    fn faults() -> Vec<Fault> {
        let write = || first("a", "patch", "Route");
        vec![strike(write(), "slow", "60s"), when(write(), of_component("a", "pause"))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        trial.create(object("Route", "main", json!({}))).await;
        let start = |name: &'static str| {
            let ambient = trial.cluster.ambient().clone();
            trial.component(name, move |client| {
                let process = Process::new("router", &client, &ambient, &Recorder::off()).on_host(name);
                candidate(process, twin)
            });
        };
        start("a");
        sleep(SECOND).await;
        start("b");
        sleep(180 * SECOND).await;
        let route = trial.find("Route", "main").await.unwrap();
        let leases = Api::<Lease>::of(&trial.operator("reader"));
        let holder = leases.get(&key("router")).await.unwrap().spec.holder_identity.unwrap_or_default();
        check(holder == route.text("spec.by"), Self::WRONG)
    }
}

impl Searched for Example {
    const GIVEN: Option<&'static str> = Some("{apiVersion: example.com/v1, kind: Route, metadata: {name: main}}");

    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        check.workload(async |user| user.settled().await)
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        candidate(process, twin)
    }
}
