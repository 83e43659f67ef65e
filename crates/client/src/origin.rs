use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{GroupVersionResource, ObjectKey, parse_resource_version};
use parking_lot::Mutex;

use crate::request::Written;

/// On whose behalf a client writes: what the event log says of its writes, what caused them, and which revisions they
/// made.
///
/// Clones share what was written.
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
    /// The revisions that answers carried.
    revisions: BTreeMap<GroupVersionResource, Vec<i64>>,
    /// What was deleted and is gone.
    gone: Vec<Gone>,
}

/// An object that a write removed for good, and whose answer carried no revision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gone {
    /// Of which resource.
    pub resource: GroupVersionResource,
    /// Its name.
    pub key: ObjectKey,
    /// Its uid: another object may have the name since.
    pub uid: String,
}

impl Origin {
    /// Writes of `actor`, about `subject` (the key of a sync, say), caused by these entries.
    pub fn new(actor: &str, subject: &str, causes: impl IntoIterator<Item = EntryId>) -> Self {
        Self {
            actor: actor.into(),
            subject: subject.into(),
            causes: causes.into_iter().collect(),
            written: Arc::default(),
        }
    }

    /// How many writes were sent so far.
    pub fn write_count(&self) -> usize {
        self.written.lock().count
    }

    /// The last revision that was made of each resource.
    pub fn revisions(&self) -> BTreeMap<GroupVersionResource, i64> {
        let writes = self.written.lock();
        let last = writes.revisions.iter().filter_map(|(resource, all)| Some((resource.clone(), *all.iter().max()?)));
        last.collect()
    }

    /// How many answers carried a revision of a resource that `seen` says was seen before: those writes changed nothing.
    pub fn unchanged(&self, seen: impl Fn(&GroupVersionResource) -> Option<i64>) -> usize {
        let writes = self.written.lock();
        let old = |(resource, all): (&GroupVersionResource, &Vec<i64>)| match seen(resource) {
            Some(seen) => all.iter().filter(|revision| **revision <= seen).count(),
            None => 0,
        };
        writes.revisions.iter().map(old).sum()
    }

    /// What was deleted and was gone at once, as far as no revision says when.
    pub fn gone(&self) -> Vec<Gone> {
        self.written.lock().gone.clone()
    }

    pub(crate) fn ended(&self, gone: Gone) {
        self.written.lock().gone.push(gone);
    }

    pub(crate) fn sent(&self) {
        self.written.lock().count += 1;
    }

    /// Notes the version that a write's answer carries.
    pub(crate) fn wrote(&self, resource: &GroupVersionResource, version: &str) {
        let Some(revision) = parse_resource_version(version) else { return };
        let mut writes = self.written.lock();
        match writes.revisions.get_mut(resource) {
            Some(all) => all.push(revision),
            None => drop(writes.revisions.insert(resource.clone(), vec![revision])),
        }
    }

    /// Records a write under an audit id by which the API server finds its cause.
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

    /// A read is no entry of its own: what it is for causes the request.
    pub(crate) fn asks(&self, recorder: &Recorder, audit_id: &str) {
        if let Some(cause) = self.causes.last() {
            recorder.remember_audit(audit_id, *cause);
        }
    }
}
