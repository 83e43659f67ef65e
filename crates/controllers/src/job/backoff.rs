//! How long a Job waits before it replaces failed pods.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use jiff::SignedDuration;

use super::pod::{all_failures_before, finished_at};

const FIRST: SignedDuration = SignedDuration::from_secs(10);
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The failures of a Job since its last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    count: u32,
    last: Option<Timestamp>,
}

impl Failures {
    /// Adds pods whose termination is seen for the first time. In Kubernetes: `newBackoffRecord`.
    pub(super) fn after(self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
        let success = succeeded.iter().map(|pod| finished_at(pod)).max();
        let later = failed.iter().map(|pod| finished_at(pod)).filter(|at| success.is_none_or(|success| *at > success));
        let later: Vec<_> = later.collect();
        let before = if success.is_some() { Self::default() } else { self };
        let count = before.count.saturating_add(u32::try_from(later.len()).unwrap_or(u32::MAX));
        Self { count, last: later.into_iter().max().or(before.last) }
    }

    /// The remaining back-off; `None` without one.
    pub(super) fn left(self, now: Timestamp) -> Option<SignedDuration> {
        left(self.count, self.last?, now)
    }
}

/// The same for one index, given its last failed pod.
pub(super) fn left_for_index(last_failed: &Pod, now: Timestamp) -> Option<SignedDuration> {
    let count = u32::try_from(all_failures_before(last_failed)).unwrap_or(0).saturating_add(1);
    left(count, finished_at(last_failed), now)
}

fn left(count: u32, last: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    let doublings = count.checked_sub(1)?;
    // Seven doublings exceed the longest back-off.
    let wait = (FIRST * (1 << doublings.min(7))).min(LONGEST);
    Some(wait.saturating_sub(now.duration_since(last))).filter(SignedDuration::is_positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    fn at(seconds: i64) -> Timestamp {
        parse_time("2026-01-01T00:00:00Z").unwrap() + SignedDuration::from_secs(seconds)
    }

    fn ended(seconds: i64) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.creation_timestamp = Some(at(seconds).to_string());
        Arc::new(pod)
    }

    #[test]
    fn each_failure_doubles_the_wait_and_a_success_ends_it() {
        let mut failures = Failures::default();
        assert_eq!(failures.left(at(0)), None);
        let mut waits = Vec::new();
        for _ in 0..9 {
            failures = failures.after(&[], &[ended(0)]);
            waits.push(failures.left(at(0)).unwrap().as_secs());
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(failures.left(at(599)), Some(SignedDuration::from_secs(1)));
        assert_eq!(failures.left(at(600)), None);
        assert_eq!(failures.after(&[ended(1)], &[]), Failures::default());
        let since = failures.after(&[ended(5)], &[ended(4), ended(6), ended(7)]);
        assert_eq!(since, Failures { count: 2, last: Some(at(7)) });
    }
}
