//! Leader election: of three copies of a program, one acts at a time. The first crashes, the second is asked to stop.
//! Run it: `cargo run -p coracle-examples --bin leader_election`.
//!
//! The copy that holds the Lease leads, and renews it every two seconds. After a crash the others wait until the Lease
//! has expired (15 s), each by its own clock. A copy that stops in order releases the Lease, and the next one leads.

use std::error::Error;
use std::future::pending;
use std::time::Duration;

use coracle::Cluster;
use coracle::api::coordination_v1::Lease;
use coracle::journal::Recorder;
use coracle::meta::ObjectKey;
use coracle::prelude::*;
use coracle::runtime::Api;
use coracle::runtime::controller::{Ended, LeaderElection, LeaderTimings, Process, lead};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A copy of the program: its task, and how it is asked to stop.
type Copy = (JoinHandle<Ended>, oneshot::Sender<()>);

fn start(cluster: &Cluster, name: &'static str, leads: &mpsc::UnboundedSender<&'static str>) -> Copy {
    let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off()).on_host(name);
    let lease = ObjectKey::new("default", "program");
    let election = LeaderElection::new(&process, "program", lease, LeaderTimings::default());
    let (stop, asked) = oneshot::channel();
    let leads = leads.clone();
    let work = async move {
        // Controllers would start here, and be dropped where they stand when the lease is lost.
        let _ = leads.send(name);
        pending().await
    };
    (tokio::spawn(lead(Some(election), async { drop(asked.await) }, work)), stop)
}

async fn story(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (leads, mut leader) = mpsc::unbounded_channel();
    let began = Instant::now();
    let mut next = async || {
        let name = leader.recv().await.unwrap_or("no copy");
        println!("{:>5.1} s  {name} leads", began.elapsed().as_secs_f64());
        (name, Instant::now())
    };
    let (alpha, _stop_alpha) = start(cluster, "alpha", &leads);
    assert_eq!(next().await.0, "alpha", "no other copy runs");
    let (beta, stop_beta) = start(cluster, "beta", &leads);
    cluster.settle().await?;

    println!("{:>5.1} s  alpha crashes", began.elapsed().as_secs_f64());
    let crash = Instant::now();
    alpha.abort();
    let (name, at) = next().await;
    assert_eq!(name, "beta");
    assert!(at - crash > Duration::from_secs(10) && at - crash < Duration::from_secs(20), "a lease lasts 15 s");

    let _gamma = start(cluster, "gamma", &leads);
    cluster.settle().await?;
    println!("{:>5.1} s  beta is asked to stop", began.elapsed().as_secs_f64());
    let stopped = Instant::now();
    let _ = stop_beta.send(());
    assert_eq!(beta.await?, Ended::Asked);
    let (name, at) = next().await;
    assert!(name == "gamma" && at - stopped < Duration::from_secs(5), "it need not wait for the end of the lease");
    let lease = Api::<Lease>::of(&cluster.api_client()).get(&ObjectKey::new("default", "program")).await?;
    assert_eq!(lease.spec.lease_transitions, Some(2));
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    coracle::run_virtual(1, story)?
}
