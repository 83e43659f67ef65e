use std::collections::BTreeSet;
use std::time::Duration;

use coracle_journal::{Entry, EntryId, Stage};
use serde_json::Value;

/// What the store held at each revision, as its own entries in the event log say it. The world of the scenario, which judges, has
/// no part in this.
pub(super) struct History {
    /// In the order of the log.
    moments: Vec<Moment>,
}

/// The objects after one commit, by `plural/namespace/name`.
pub(super) struct Moment {
    pub(super) revision: i64,
    entry: EntryId,
    at: Duration,
    pub(super) objects: BTreeSet<String>,
}

impl History {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut objects = BTreeSet::new();
        let mut moments = vec![Moment { revision: 0, entry: EntryId(0), at: Duration::ZERO, objects: objects.clone() }];
        for entry in entries.iter().filter(|entry| entry.stage == Stage::StoreCommit) {
            if entry.data.get("op").and_then(Value::as_str) == Some("delete") {
                objects.remove(&entry.subject);
            } else {
                objects.insert(entry.subject.clone());
            }
            let revision = entry.revision.expect("a commit has a revision");
            let moment = Moment { revision, entry: entry.id, at: entry.at, objects: objects.clone() };
            match moments.last_mut() {
                Some(last) if last.revision == revision => *last = moment,
                _ => moments.push(moment),
            }
        }
        Self { moments }
    }

    /// What was there when an entry was written.
    pub(super) fn before(&self, entry: EntryId) -> &Moment {
        self.moments.iter().rev().find(|moment| moment.entry < entry).expect("the first one comes before every entry")
    }

    /// The revisions that a check looks at which begins at an entry and waits so long. What is committed at that very instant
    /// may come before the check looks or after: the second answer begins after it.
    pub(super) fn window(&self, begin: &Entry, timeout: Duration) -> [Vec<&Moment>; 2] {
        let (first, deadline) = (self.before(begin.id).revision, begin.at + timeout);
        let last = self.moments.iter().rev().find(|moment| moment.at <= begin.at).map_or(first, |last| last.revision);
        [first, last.max(first)].map(|from| {
            self.moments
                .iter()
                .filter(|moment| moment.revision >= from)
                .filter(|moment| moment.at <= deadline.max(begin.at) || moment.revision == from)
                .collect()
        })
    }

    /// The revisions since a step began, so many milliseconds later. What is committed at the first or the last instant may
    /// be among them or not: with and without each.
    pub(super) fn since(&self, begin: &Entry, after: Duration) -> Vec<Vec<&Moment>> {
        let end = begin.at + after;
        let first = self.before(begin.id).revision;
        let last = self.moments.iter().rev().find(|moment| moment.at <= begin.at).map_or(first, |last| last.revision);
        let from = |from: i64, with_end: bool| {
            let is_in_time = move |moment: &&Moment| moment.at < end || with_end && moment.at == end;
            let moments = self.moments.iter().filter(move |moment| moment.revision >= from);
            moments.filter(move |moment| is_in_time(moment) || moment.revision == from).collect()
        };
        [first, last.max(first)].iter().flat_map(|start| [false, true].map(|with_end| from(*start, with_end))).collect()
    }

    /// How many of the drawn ConfigMaps were deleted.
    pub(super) fn deletions(&self, prefix: &str) -> usize {
        let there = |moment: &Moment| moment.objects.iter().filter(|object| object.starts_with(prefix)).count();
        self.moments.windows(2).map(|pair| there(&pair[0]).saturating_sub(there(&pair[1]))).sum()
    }

    /// All revisions that were there before an entry.
    pub(super) fn up_to(&self, entry: EntryId) -> impl Iterator<Item = &Moment> {
        self.moments.iter().filter(move |moment| moment.entry < entry && moment.revision > 0)
    }
}
