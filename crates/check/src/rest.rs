use std::pin::pin;
use std::time::Duration;

use coracle_cluster::Cluster;
use coracle_journal::{EntryId, Recorder};
use coracle_sim::checks::Run;
use coracle_sim::{NotSettled, Settle, Wire};
use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep};

use crate::pace::LEAST_BETWEEN;
use crate::running_program::RunningProgram;

/// How many changes may follow one act of a user. A cluster with more of them never settles.
pub(crate) const MOST_CHANGES: i64 = 2_000;
/// The same for a component that makes few changes without a fault.
const FEWEST_CHANGES: i64 = 300;
/// How many times as many changes as without a fault may follow.
const FACTOR: i64 = 4;
/// How often they are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a program may start, or compute, while nothing changes.
const MOST_BUSY: Duration = Duration::from_secs(3);
/// How often it is looked whether it does.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Why a cluster has not settled.
#[derive(Debug)]
pub(crate) enum Unrest {
    /// It did not settle in time.
    Late(String),
    /// It changes so often that it is not awaited any more.
    Endless(String),
}

impl Unrest {
    /// The reason as a sentence.
    pub(crate) fn why(self) -> String {
        match self {
            Self::Late(why) | Self::Endless(why) => why,
        }
    }
}

/// What has to come to rest: a cluster, and the program that is checked in it.
#[derive(Clone, Copy)]
pub(crate) struct Stillness<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) wire: &'c Wire,
    /// The component.
    pub(crate) name: &'c str,
    /// Its process, if it is a program.
    pub(crate) program: Option<&'c RunningProgram>,
    /// How many changes may follow one act of a user.
    pub(crate) most_changes: i64,
}

/// How many changes may follow one act of a user, if so many are made in whole runs without a fault.
pub(crate) fn most_changes(without_faults: usize) -> i64 {
    let usual = i64::try_from(without_faults).unwrap_or(MOST_CHANGES);
    (usual.saturating_mul(FACTOR)).clamp(FEWEST_CHANGES, MOST_CHANGES)
}

impl Stillness<'_> {
    /// Waits until the cluster has settled, and no longer than it is clear that it does not.
    pub(crate) async fn rest(&self, options: Settle) -> Result<(), Unrest> {
        match select(pin!(self.settle(options)), pin!(endless(self.cluster, self.most_changes))).await {
            Either::Left((settled, _)) => settled.map_err(|not_settled| Unrest::Late(not_settled.to_string())),
            Either::Right((why, _)) => Err(Unrest::Endless(why)),
        }
    }

    /// Waits until the cluster has settled. A program may still start or compute, or wait for an answer, while nothing
    /// changes: this is awaited, too, as long as it does not last.
    async fn settle(&self, settle: Settle) -> Result<(), NotSettled> {
        let mut next = settle;
        let patience = Instant::now() + settle.quiet + MOST_BUSY;
        loop {
            coracle_sim::settle(self.cluster, next).await?;
            if !self.is_busy() || Instant::now() >= patience {
                return Ok(());
            }
            while self.is_busy() && Instant::now() < patience {
                sleep(LOOK_AGAIN).await;
            }
            // What it computed is written soon.
            next.quiet = settle.quiet.min(LEAST_BETWEEN);
        }
    }

    fn is_busy(&self) -> bool {
        let Some(program) = self.program else { return false };
        !self.cluster.runs(self.name) || program.is_busy() || self.wire.carries()
    }

    /// Waits until a program has sent its first request, as long as a start may take.
    pub(crate) async fn await_start(&self) {
        let patience = Instant::now() + MOST_BUSY;
        while self.program.is_some_and(RunningProgram::is_busy) && Instant::now() < patience {
            sleep(LOOK_AGAIN).await;
        }
    }
}

/// Waits until a cluster has settled and no request is on its way, and returns the last entry before. If it does not
/// settle, the run has the reason.
pub(crate) async fn at_rest(
    run: &mut Run,
    wire: &Wire,
    recorder: &Recorder,
    settled: impl AsyncFn() -> Result<(), String>,
) -> Option<EntryId> {
    loop {
        if let Err(why) = settled().await {
            run.unsettled.get_or_insert(why);
            return None;
        }
        // A request that a fault made slow may still arrive.
        if !wire.carries() {
            return Some(recorder.last());
        }
    }
}

/// Ends after too many changes.
async fn endless(cluster: &Cluster, most: i64) -> String {
    let (first, mut seconds) = (revision(cluster).await, 0);
    loop {
        sleep(INTERVAL).await;
        seconds += INTERVAL.as_secs();
        let changes = revision(cluster).await - first;
        if changes > most {
            return format!("the cluster did not settle: {changes} changes in {seconds} s");
        }
    }
}

async fn revision(cluster: &Cluster) -> i64 {
    cluster.store().status().await.map_or(0, |status| status.revision)
}
