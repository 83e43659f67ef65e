use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{GroupVersionResource, ObjectKey};
use parking_lot::Mutex;

use crate::request::Written;

/// The origin of a client's writes: their actor and causes in the event log, and the revisions that they created.
///
/// Clones share the record of writes.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    actor: Arc<str>,
    subject: Arc<str>,
    causes: Arc<[EntryId]>,
    written: Arc<Mutex<Writes>>,
}

#[derive(Debug, Default)]
struct Writes {
    count: usize,
    /// The revisions in responses.
    revisions: BTreeMap<GroupVersionResource, Vec<i64>>,
    /// The objects that were deleted at once.
    gone: Vec<Gone>,
}

/// An object that a write removed, and whose response had no revision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gone {
    /// The resource.
    pub resource: GroupVersionResource,
    /// Its name.
    pub key: ObjectKey,
    /// Its uid: another object may have the name since then.
    pub uid: String,
}

impl Origin {
    /// The origin of writes of `actor`, about `subject` (for example the key of a sync), caused by these entries.
    pub fn new(actor: &str, subject: &str, causes: impl IntoIterator<Item = EntryId>) -> Self {
        Self {
            actor: actor.into(),
            subject: subject.into(),
            causes: causes.into_iter().collect(),
            written: Arc::default(),
        }
    }

    /// The number of writes so far.
    pub fn write_count(&self) -> usize {
        self.written.lock().count
    }

    /// The last revision of each resource.
    pub fn revisions(&self) -> BTreeMap<GroupVersionResource, i64> {
        let writes = self.written.lock();
        let last = writes.revisions.iter().filter_map(|(resource, all)| Some((resource.clone(), *all.iter().max()?)));
        last.collect()
    }

    /// How many responses had a revision that `seen` reports as known: those writes changed nothing.
    pub fn unchanged(&self, seen: impl Fn(&GroupVersionResource) -> Option<i64>) -> usize {
        let writes = self.written.lock();
        let old = |(resource, all): (&GroupVersionResource, &Vec<i64>)| match seen(resource) {
            Some(seen) => all.iter().filter(|revision| **revision <= seen).count(),
            None => 0,
        };
        writes.revisions.iter().map(old).sum()
    }

    /// The objects that were deleted at once, if no revision shows that.
    pub fn gone(&self) -> Vec<Gone> {
        self.written.lock().gone.clone()
    }

    pub(crate) fn ended(&self, gone: Gone) {
        self.written.lock().gone.push(gone);
    }

    pub(crate) fn sent(&self) {
        self.written.lock().count += 1;
    }

    /// Records the revision in a write's response.
    pub(crate) fn wrote(&self, resource: &GroupVersionResource, revision: i64) {
        let mut writes = self.written.lock();
        match writes.revisions.get_mut(resource) {
            Some(all) => all.push(revision),
            None => drop(writes.revisions.insert(resource.clone(), vec![revision])),
        }
    }

    /// Records a write under an audit id, by which the API server finds its cause.
    pub(crate) fn record(&self, recorder: &Recorder, written: &Written, audit_id: &str) {
        let entry = recorder.record(&self.actor, Stage::SyncWrite, || {
            let mut detail = Detail::about(&*self.subject)
                .caused_by(self.causes.iter().copied())
                .with("verb", written.verb)
                .with("resource", written.resource.as_str())
                .with("name", written.name.as_str())
                .with("audit", audit_id);
            if !written.precondition.is_empty() {
                detail = detail.with("precondition", written.precondition.as_str());
            }
            detail
        });
        if let Some(entry) = entry {
            recorder.remember_audit(audit_id, entry);
        }
    }

    /// A read has no entry of its own: the sync that reads is the cause of the request.
    pub(crate) fn asks(&self, recorder: &Recorder, audit_id: &str) {
        if let Some(cause) = self.causes.last() {
            recorder.remember_audit(audit_id, *cause);
        }
    }
}
