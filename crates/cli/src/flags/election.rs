use std::time::Duration;

use clap::{ArgAction, Args};
use coracle_cluster::LeaderTimings;

use super::values::duration;
use crate::exit;

/// Leader election, with the flags of Kubernetes' components.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Election {
    /// Act only while this process holds the component's Lease in kube-system, and exit when it loses the Lease
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    leader_elect: Option<bool>,
    /// How long other processes wait before they take a Lease that is not renewed [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    leader_elect_lease_duration: Option<Duration>,
    /// How long a leader tries to renew its Lease before it gives up [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    leader_elect_renew_deadline: Option<Duration>,
    /// The time between two attempts to acquire or renew the Lease [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    leader_elect_retry_period: Option<Duration>,
}

impl Election {
    /// The timings of leader election; `None` if it is off. The settings of a file, if there is one, are the defaults.
    /// In Kubernetes: the checks of `leaderelection.NewLeaderElector`.
    pub(crate) fn timings(self, file: Option<LeaderTimings>) -> Result<Option<LeaderTimings>, exit::Usage> {
        let default = file.unwrap_or_default();
        let timings = LeaderTimings {
            lease: self.leader_elect_lease_duration.unwrap_or(default.lease),
            renew_deadline: self.leader_elect_renew_deadline.unwrap_or(default.renew_deadline),
            retry: self.leader_elect_retry_period.unwrap_or(default.retry),
        };
        let wrong = match timings {
            LeaderTimings { lease, renew_deadline, .. } if lease <= renew_deadline => {
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
            }
            LeaderTimings { renew_deadline, retry, .. } if renew_deadline <= retry.mul_f64(1.2) => {
                "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period"
            }
            LeaderTimings { retry, .. } if retry.is_zero() => "--leader-elect-retry-period must not be zero",
            _ => return Ok(self.leader_elect.unwrap_or(file.is_some()).then_some(timings)),
        };
        Err(exit::Usage(wrong.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        election: Election,
    }

    fn read(flags: &[&str]) -> Result<Option<LeaderTimings>, String> {
        let words = std::iter::once("coracle").chain(flags.iter().copied());
        let flags = Flags::try_parse_from(words).map_err(|error| error.to_string())?;
        flags.election.timings(None).map_err(|error| error.to_string())
    }

    #[test]
    fn leader_election_is_off_by_default() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["--leader-elect=false"]), Ok(None));
        assert_eq!(read(&["--leader-elect"]), Ok(Some(LeaderTimings::default())));
        let short = read(&["--leader-elect=true", "--leader-elect-lease-duration=1m30s"]).unwrap().unwrap();
        assert_eq!(short.lease, Duration::from_secs(90));
    }

    #[test]
    fn timings_that_permit_two_leaders_are_refused() {
        assert!(read(&["--leader-elect", "--leader-elect-lease-duration=10s"]).unwrap_err().contains("longer"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=9s"]).unwrap_err().contains("1.2 times"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=0s"]).unwrap_err().contains("zero"));
        assert!(read(&["--leader-elect", "--leader-elect-retry-period=soon"]).unwrap_err().contains("duration"));
    }
}
