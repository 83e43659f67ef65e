use std::collections::BTreeMap;

use coracle_journal::{Entry, EntryId, Stage};

use crate::sentence::word;

/// What marks a fault in a story and in a chain.
pub(crate) const MARK: &str = "!! ";

/// Whether an entry is about a fault.
pub(crate) fn is_fault(entry: &Entry) -> bool {
    matches!(entry.stage, Stage::FaultOn | Stage::FaultOff)
}

/// The faults that applied at any time from one entry to another: the entries of their beginnings, also of those before
/// the first entry, and of their ends. A fault that ends at the moment at which it begins has no end here.
pub(crate) fn faults_between(entries: &[Entry], first: EntryId, last: EntryId) -> Vec<&Entry> {
    let mut open: BTreeMap<(&str, String), &Entry> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| is_fault(entry) && entry.id <= last) {
        let key = (entry.subject.as_str(), word(entry, "fault"));
        if entry.stage == Stage::FaultOn {
            open.insert(key, entry);
            found.push(entry);
        } else if let Some(began) = open.remove(&key) {
            if entry.id < first {
                found.retain(|one| one.id != began.id);
            } else if entry.at > began.at {
                found.push(entry);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coracle_journal::{Detail, Recorder};

    use super::*;

    /// A log of faults: the stage, the name, and the milliseconds at which it is recorded.
    fn log(of: &[(Stage, &str, u64)]) -> Vec<Entry> {
        let recorder = Recorder::ring(100);
        for (stage, name, _) in of {
            recorder.record("wire", *stage, || Detail::about("pods").with("fault", *name));
        }
        let mut entries = recorder.entries(EntryId(0));
        for (entry, (_, _, at)) in entries.iter_mut().zip(of) {
            entry.at = Duration::from_millis(*at);
        }
        entries
    }

    #[test]
    fn a_fault_counts_if_it_applied_between_the_entries_and_ends_later_than_it_began() {
        let (on, off) = (Stage::FaultOn, Stage::FaultOff);
        let entries = log(&[
            (on, "over", 0),
            (off, "over", 1),
            (on, "before", 2),
            (Stage::SyncStart, "", 3),
            (on, "lost", 4),
            (off, "lost", 4),
            (off, "before", 5),
            (Stage::SyncEnd, "", 6),
            (on, "after", 7),
        ]);
        let found = faults_between(&entries, entries[3].id, entries[7].id);
        let found: Vec<_> = found.iter().map(|entry| (entry.stage, word(entry, "fault"))).collect();
        let wanted = [(on, "before".to_owned()), (on, "lost".to_owned()), (off, "before".to_owned())];
        assert_eq!(found, wanted);
    }
}
