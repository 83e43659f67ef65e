//! `coracle up --wait`: waits until the nodes are ready and the controllers have no work left.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::time::Instant;

use crate::flags::values::duration;
use crate::output::{Unwritten, note, out};
use crate::readiness::Readiness;

/// How long `--wait` waits by default.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The flags of a wait.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct WaitFlags {
    /// Announce the cluster only when its nodes are ready and its controllers have no work left
    ///
    /// With --detach, the command returns only then.
    #[arg(long)]
    wait: bool,
    /// How long --wait waits; a cluster that is not ready by then ends the command with exit code 3 [default: 60s]
    #[arg(long, value_name = "DURATION", help_heading = "Wait", requires = "wait", value_parser = duration)]
    timeout: Option<Duration>,
}

impl WaitFlags {
    /// How long to wait; none if no wait was asked for.
    pub(super) fn timeout(self) -> Option<Duration> {
        self.wait.then(|| self.timeout.unwrap_or(TIMEOUT))
    }
}

/// The arguments of a process without the flags of a wait.
pub(super) fn without_wait<T: AsRef<std::ffi::OsStr>>(arguments: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut is_value = false;
    arguments.filter(move |argument| {
        let text = argument.as_ref().to_string_lossy();
        let was_value = std::mem::replace(&mut is_value, text == "--timeout");
        !was_value && text != "--wait" && text != "--timeout" && !text.starts_with("--timeout=")
    })
}

/// Asks again and again until the cluster is ready, or until the time is over; `ask` waits a while for a ready cluster.
/// Says what is awaited whenever that changes. Returns the last answer.
pub(super) async fn until_ready<F>(within: Duration, ask: impl Fn() -> F) -> Result<Readiness>
where
    F: Future<Output = Result<Readiness>>,
{
    let deadline = Instant::now() + within;
    let mut said = Vec::new();
    loop {
        let readiness = ask().await?;
        if readiness.is_ready() || Instant::now() >= deadline {
            return Ok(readiness);
        }
        let missing = readiness.missing();
        if missing != said {
            note!("waiting: {}", missing.join("; "));
            said = missing;
        }
    }
}

/// Says that a cluster is ready.
pub(super) fn announce(readiness: &Readiness) -> Result<(), Unwritten> {
    out!(" ✓ nodes {}; the controllers have no work left", readiness.nodes_in_words())
}

/// Says that a cluster is not ready in time, and what is missing.
pub(super) fn complain(readiness: &Readiness, within: Duration) {
    let missing = readiness.missing();
    note!("coracle: the cluster is not ready after {}:", coracle_meta::format_duration(within));
    missing.iter().for_each(|missing| note!("  {missing}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_of_the_cluster_gets_no_flags_of_a_wait() {
        let rest = |line: &str| without_wait(line.split(' ').map(str::to_owned)).collect::<Vec<_>>().join(" ");
        assert_eq!(rest("up --wait --ephemeral --timeout 5s --nodes 3"), "up --ephemeral --nodes 3");
        assert_eq!(rest("up --timeout=5s --wait --request-timeout 9s"), "up --request-timeout 9s");
    }
}
