use std::collections::VecDeque;
use std::sync::Arc;

use coracle_meta::Object;
use coracle_store::{Event, Revision};

use crate::entry::{Entry, Selectable};
use crate::{NotStorable, Resource, Stored};

/// Objects that this process writes and whose events have not arrived yet, so that the events need no decoding.
#[derive(Default)]
pub(crate) struct Announced {
    writes: VecDeque<Pending>,
}

/// An object that is being written.
struct Pending {
    /// Its layout before it had a revision.
    stored: Stored,
    selectable: Arc<Selectable>,
    /// The object with its revision, once the store has returned it.
    written: Option<Stored>,
}

impl Announced {
    pub(crate) fn add(&mut self, stored: &Stored, object: &Object, resource: &Resource) {
        let selectable = Arc::new(Selectable::of(resource, object));
        self.writes.push_back(Pending { stored: stored.clone(), selectable, written: None });
    }

    /// How many have not arrived yet.
    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }

    /// An object was written at `revision`: returns it with its revision. `None` if its event has arrived already.
    pub(crate) fn settle(&mut self, stored: &Stored, revision: Revision) -> Option<Stored> {
        let write = self.writes.iter_mut().rfind(|write| write.stored.is_same(stored))?;
        Some(write.written.insert(stored.at(revision)).clone())
    }

    /// An object that was written at `revision` with this value, and whose event has not arrived. This process writes one
    /// key in a transaction, so no other key has this revision.
    pub(crate) fn written(&self, value: &[u8], revision: Revision) -> Option<&Stored> {
        let mut written = self.writes.iter().rev().filter_map(|write| write.written.as_ref());
        written.find(|written| written.revision() == revision && written.value() == value)
    }

    /// Forgets an object that was not written.
    pub(crate) fn withdraw(&mut self, stored: &Stored) {
        self.writes.retain(|write| write.written.is_some() || !write.stored.is_same(stored));
    }

    /// The entry for the object of an event: the announced object, or the decoded value.
    pub(crate) fn entry_after(&mut self, event: &Event, resource: &Resource) -> Result<Entry, NotStorable> {
        let at = event.kv.mod_revision;
        let own = self.writes.iter().position(|write| write.stored.value() == &event.kv.value);
        match own.and_then(|index| self.writes.remove(index)) {
            Some(Pending { stored, selectable, written }) => {
                let written = written.filter(|written| written.revision() == at);
                Ok(Entry::with(written.unwrap_or_else(|| stored.at(at)), selectable))
            }
            None => Entry::read(resource, event.kv.value.clone(), at),
        }
    }

    /// Forgets writes up to `revision`: their events were covered by a fill and will not arrive.
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.writes.retain(|write| write.written.as_ref().is_none_or(|written| written.revision() > revision));
    }
}
