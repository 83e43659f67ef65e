use std::collections::{BTreeMap, BTreeSet};

use coracle_journal::{Entry, EntryId, Stage};

use crate::sentence::{sentence, word};
use crate::struck::MARK;

/// The entries of a story, of which only the steps of `docs/walk.md` are shown.
pub(crate) struct Steps<'e> {
    entries: Vec<&'e Entry>,
    by_id: BTreeMap<EntryId, &'e Entry>,
}

impl<'e> Steps<'e> {
    /// The steps among these entries.
    pub(crate) fn of(entries: Vec<&'e Entry>) -> Self {
        let by_id = entries.iter().map(|entry| (entry.id, *entry)).collect();
        Self { entries, by_id }
    }

    /// Calls `tell` for each step: the entry, its actor, and what happens.
    pub(crate) fn each(&self, mut tell: impl FnMut(&Entry, &str, &str)) {
        let writers = self.writers();
        let decisions = self.decisions();
        let mut announced = BTreeSet::new();
        for entry in self.entries.iter().filter(|entry| !is_of_an_event(entry)) {
            let what = match entry.stage {
                Stage::ApiRequest if entry.causes.is_empty() => sentence(entry),
                Stage::StoreCommit => self.commit(entry),
                Stage::SyncStart if writers.contains(&entry.id) => {
                    let decides = decisions.get(&entry.id).map(|what| format!(" decides: {what}"));
                    sentence(entry) + &decides.unwrap_or_default()
                }
                Stage::SchedulerPick | Stage::KubeletTransition | Stage::KubeletVolume => sentence(entry),
                Stage::FaultOn | Stage::FaultOff => format!("{MARK}{}", sentence(entry)),
                Stage::HandlerCall if announced.insert((&entry.subject, entry.revision)) => {
                    tell(entry, "informers", &self.announcement(entry));
                    continue;
                }
                _ => continue,
            };
            tell(entry, &entry.actor, &what);
        }
    }

    /// What was written, and for which requester.
    fn commit(&self, commit: &Entry) -> String {
        let request = self.causes(commit).find(|cause| cause.stage == Stage::ApiRequest);
        let user = request.map(|request| word(request, "user")).unwrap_or_default();
        let what = sentence(commit);
        if user.is_empty() { what } else { format!("{what}, for {user}") }
    }

    /// What each sync decided, by its first entry: the entry at its end records it.
    fn decisions(&self) -> BTreeMap<EntryId, String> {
        let ends = self.entries.iter().filter(|entry| entry.stage == Stage::SyncEnd);
        let said = ends.filter_map(|end| Some((*end.causes.first()?, word(end, "decided"))));
        said.filter(|(_, decided)| !decided.is_empty()).collect()
    }

    /// The components that act on a change.
    fn announcement(&self, first: &Entry) -> String {
        let is_same = |entry: &&&Entry| {
            entry.stage == Stage::HandlerCall && entry.subject == first.subject && entry.revision == first.revision
        };
        let told: BTreeSet<&str> = self.entries.iter().filter(is_same).map(|entry| entry.actor.as_str()).collect();
        let told: Vec<&str> = told.into_iter().collect();
        format!("tell {}: {} {}", told.join(", "), word(first, "notification"), first.subject)
    }

    /// The syncs that write, without those that a scheduler pick or a pod transition describes.
    fn writers(&self) -> BTreeSet<EntryId> {
        let of_stage = |wanted: fn(&Entry) -> bool| -> BTreeSet<EntryId> {
            let entries = self.entries.iter().filter(|entry| wanted(entry));
            entries.flat_map(|entry| entry.causes.iter().copied()).collect()
        };
        let writing = of_stage(|entry| entry.stage == Stage::SyncWrite && !is_of_an_event(entry));
        let told = of_stage(|entry| matches!(entry.stage, Stage::SchedulerPick | Stage::KubeletTransition));
        writing.difference(&told).copied().collect()
    }

    fn causes(&self, entry: &Entry) -> impl Iterator<Item = &'e Entry> {
        entry.causes.iter().filter_map(|cause| self.by_id.get(cause).copied())
    }
}

/// Whether an entry is about an `Event` object, which causes nothing.
fn is_of_an_event(entry: &Entry) -> bool {
    entry.subject.starts_with("events/")
}
