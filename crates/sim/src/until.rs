use std::fmt::{self, Display};
use std::time::Duration;

use coracle_cluster::{Cluster, Error};
use tokio::time::{Instant, timeout_at};

use crate::store_changes::StoreChanges;

/// How often a condition is checked while no object changes, in the cluster's time. A condition may depend on more than
/// objects.
const RECHECK: Duration = Duration::from_secs(1);
/// How long a check may take that begins at the end of the time.
const GRACE: Duration = Duration::from_secs(1);

/// A condition did not hold in time.
#[derive(Debug)]
pub struct NotMet {
    /// How long the condition was awaited, in the cluster's time.
    pub after: Duration,
    /// What the condition said when it was checked last.
    pub last_seen: String,
    /// Why the cluster ended, if it ended first.
    pub ended: Option<Error>,
}

impl Display for NotMet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ended {
            Some(ended) => write!(f, "the cluster ended: {ended}; last seen: {}", self.last_seen),
            None => write!(f, "the condition did not hold after {:?}; last seen: {}", self.after, self.last_seen),
        }
    }
}

impl std::error::Error for NotMet {}

/// Waits until `look` succeeds, and returns its result. `look` is called at once, after each change of an object in the
/// cluster, each second in the cluster's time, and a last time at the end of `within`.
///
/// # Errors
/// If `look` fails for the time `within`, on the cluster's clock, or if the cluster ends. The error contains the last
/// error of `look`.
pub async fn until<T, E: Display>(
    cluster: &Cluster,
    within: Duration,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, NotMet> {
    let start = Instant::now();
    let deadline = start + within;
    let mut last_seen = "nothing yet".to_owned();
    let waited = cluster.unless_ended(async {
        let mut changes = StoreChanges::from_now(cluster.store()).await;
        loop {
            match timeout_at(deadline + GRACE, look()).await {
                Ok(Ok(met)) => return Some(met),
                Ok(Err(seen)) => last_seen = seen.to_string(),
                Err(_) => return None,
            }
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            // Ends with a change, or when it is time to look again.
            let _ = timeout_at(deadline.min(now + RECHECK), changes.next()).await;
        }
    });
    let ended = match waited.await {
        Ok(Some(met)) => return Ok(met),
        Ok(None) => None,
        Err(ended) => Some(ended),
    };
    Err(NotMet { after: start.elapsed(), last_seen, ended })
}
