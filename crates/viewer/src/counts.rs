use std::collections::BTreeSet;

use coracle_journal::{Entry, Stage};
use serde::Serialize;

use crate::sentence::word;

/// Counts of the events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Revisions of the store.
    pub revisions: usize,
    /// Syncs of controllers.
    pub syncs: usize,
    /// Keys that were added while they were in a queue already.
    pub merged: usize,
    /// Keys that were queued again after a failure.
    pub retried: usize,
    /// Lists after the first of each reflector.
    pub relists: usize,
}

impl Counts {
    /// The stages that are counted.
    pub const STAGES: &[Stage] =
        &[Stage::StoreCommit, Stage::SyncEnd, Stage::QueueAdd, Stage::QueueDelay, Stage::ReflectorList];

    /// Counts the entries of a log; the entries of the stages in [`STAGES`](Self::STAGES) suffice.
    pub fn of(entries: &[Entry]) -> Self {
        let mut counts = Self::default();
        let mut revisions = BTreeSet::new();
        for entry in entries.iter().filter(|entry| Self::STAGES.contains(&entry.stage)) {
            match entry.stage {
                Stage::StoreCommit => revisions.extend(entry.revision),
                Stage::SyncEnd => counts.syncs += 1,
                Stage::QueueAdd => {
                    counts.merged += usize::from(matches!(&*word(entry, "how"), "merged" | "marked-dirty"));
                }
                Stage::QueueDelay => counts.retried += usize::from(word(entry, "why") == "rate-limited"),
                Stage::ReflectorList => counts.relists += usize::from(word(entry, "why") != "start"),
                other => unreachable!("{other:?} is not counted"),
            }
        }
        counts.revisions = revisions.len();
        counts
    }
}
