use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::time::timeout;

use crate::LeaderElection;

/// Why a program's work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// `shutdown` completed.
    Asked,
    /// This process lost the leadership: another may be active now, so it must do nothing further.
    LeadershipLost,
}

/// Runs `work` until `shutdown`; with an election, only while this process is the leader. On `shutdown` the lease is
/// released. In Kubernetes: `leaderelection.RunOrDie` with `ReleaseOnCancel`.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::journal::Recorder;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::controller::{Ended, LeaderElection, LeaderTimings, Process, lead};
/// use std::future::pending;
/// use std::time::Duration;
///
/// let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off());
/// let key = ObjectKey::new("default", "program");
/// let election = LeaderElection::new(&process, "program", key, LeaderTimings::default());
/// let shutdown = tokio::time::sleep(Duration::from_secs(60));
/// let work = async {
///     println!("this process leads");
///     pending().await
/// };
/// assert_eq!(lead(Some(election), shutdown, work).await, Ended::Asked);
/// # }).unwrap();
/// ```
pub async fn lead(
    election: Option<LeaderElection>,
    shutdown: impl Future<Output = ()>,
    work: impl Future<Output = ()>,
) -> Ended {
    let mut shutdown = pin!(shutdown);
    let work = pin!(work);
    // Each `select` polls its left future first.
    let Some(mut election) = election else {
        select(shutdown, work).await;
        return Ended::Asked;
    };
    if let Either::Left(_) = select(&mut shutdown, pin!(election.acquire())).await {
        return Ended::Asked;
    }
    let lost = {
        let hold = pin!(election.hold());
        matches!(select(shutdown, select(hold, work)).await, Either::Right((Either::Left(_), _)))
    };
    if lost {
        return Ended::LeadershipLost;
    }
    let patience = election.timings().renew_deadline;
    if timeout(patience, election.release()).await.is_err() {
        tracing::debug!("the lease was not given up in time");
    }
    Ended::Asked
}
