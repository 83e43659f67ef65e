use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{GroupVersionResource, parse_resource_version};
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
    revisions: BTreeMap<GroupVersionResource, i64>,
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
        self.written.lock().revisions.clone()
    }

    pub(crate) fn sent(&self) {
        self.written.lock().count += 1;
    }

    /// Notes the version that a write's answer carries.
    pub(crate) fn wrote(&self, resource: &GroupVersionResource, version: &str) {
        let Some(revision) = parse_resource_version(version) else { return };
        let mut writes = self.written.lock();
        let last = writes.revisions.entry(resource.clone()).or_default();
        *last = revision.max(*last);
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
}
