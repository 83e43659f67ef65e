//! How long the deletion of failed pods is delayed, so that a node that rejects them gets no endless stream of pods.

use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use jiff::SignedDuration;

const FIRST: SignedDuration = SignedDuration::from_secs(1);
const LONGEST: SignedDuration = SignedDuration::from_mins(15);

/// The back-off by set, generation and node: it doubles with each deletion.
///
/// In Kubernetes: `failedPodsBackoff`.
#[derive(Debug, Default)]
pub(super) struct FailedPods {
    entries: BTreeMap<(String, i64, String), (SignedDuration, Timestamp)>,
}

impl FailedPods {
    /// The remaining back-off; `None` if it has expired, which starts the next one.
    pub(super) fn wait(&mut self, uid: &str, generation: i64, node: &str, now: Timestamp) -> Option<SignedDuration> {
        // Entries that were unused for long are dropped, and start again with the shortest delay.
        self.entries.retain(|_, (_, since)| now.duration_since(*since) <= LONGEST * 2);
        let key = (uid.to_owned(), generation, node.to_owned());
        let entry = self.entries.get(&key).copied();
        if let Some((wait, since)) = entry {
            let left = wait.saturating_sub(now.duration_since(since));
            if left.is_positive() {
                return Some(left);
            }
        }
        let wait = entry.map_or(FIRST, |(wait, _)| (wait * 2).min(LONGEST));
        self.entries.insert(key, (wait, now));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    #[test]
    fn each_removal_waits_twice_as_long_up_to_a_quarter_of_an_hour_until_it_has_been_quiet() {
        let mut failed = FailedPods::default();
        let start = parse_time("2026-01-01T00:00:00Z").unwrap();
        let mut now = start;
        let mut waits = Vec::new();
        for _ in 0..12 {
            assert_eq!(failed.wait("u", 1, "n", now), None);
            let left = failed.wait("u", 1, "n", now).unwrap();
            waits.push(left.as_secs());
            now += left;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        assert_eq!(failed.wait("u", 2, "n", start), None, "another template is tried at once");
        now += LONGEST * 3;
        assert_eq!(failed.wait("u", 1, "n", now), None);
        assert_eq!(failed.wait("u", 1, "n", now), Some(FIRST));
        assert_eq!(failed.entries.len(), 1);
    }
}
