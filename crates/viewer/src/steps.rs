use std::collections::{BTreeMap, BTreeSet};

use coracle_journal::{Entry, EntryId, Stage};

use crate::sentence::{sentence, word};

/// The entries of a story, of which only the steps of `docs/walk.md` are told.
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

    /// Tells each step: the entry, who does it, and what.
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
                Stage::HandlerCall if announced.insert((&entry.subject, entry.revision)) => {
                    tell(entry, "informers", &self.announcement(entry));
                    continue;
                }
                _ => continue,
            };
            tell(entry, &entry.actor, &what);
        }
    }

    /// What is written, and for whom.
    fn commit(&self, commit: &Entry) -> String {
        let request = self.causes(commit).find(|cause| cause.stage == Stage::ApiRequest);
        let user = request.map(|request| word(request, "user")).unwrap_or_default();
        let what = sentence(commit);
        if user.is_empty() { what } else { format!("{what}, for {user}") }
    }

    /// What each sync decided, by the entry that starts it: its end says so.
    fn decisions(&self) -> BTreeMap<EntryId, String> {
        let ends = self.entries.iter().filter(|entry| entry.stage == Stage::SyncEnd);
        let said = ends.filter_map(|end| Some((*end.causes.first()?, word(end, "decided"))));
        said.filter(|(_, decided)| !decided.is_empty()).collect()
    }

    /// Whom a change is told to that acts on it.
    fn announcement(&self, first: &Entry) -> String {
        let is_same = |entry: &&&Entry| {
            entry.stage == Stage::HandlerCall && entry.subject == first.subject && entry.revision == first.revision
        };
        let told: BTreeSet<&str> = self.entries.iter().filter(is_same).map(|entry| entry.actor.as_str()).collect();
        let told: Vec<&str> = told.into_iter().collect();
        format!("tell {}: {} {}", told.join(", "), word(first, "notification"), first.subject)
    }

    /// The syncs that write, but for those of which a pick or a transition tells.
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

/// Whether an entry is about an `Event`, which tells what happens and makes nothing happen.
fn is_of_an_event(entry: &Entry) -> bool {
    entry.subject.starts_with("events/")
}
