use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::GroupVersionResource;

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
    revisions: BTreeMap<GroupVersionResource, u64>,
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
        self.writes().count
    }

    /// The last revision that was made of each resource.
    pub fn revisions(&self) -> BTreeMap<GroupVersionResource, u64> {
        self.writes().revisions.clone()
    }

    pub(crate) fn sent(&self) {
        self.writes().count += 1;
    }

    /// Notes the version that a write's answer carries.
    pub(crate) fn wrote(&self, resource: &GroupVersionResource, version: &str) {
        let Ok(revision) = version.parse::<u64>() else { return };
        let mut writes = self.writes();
        let last = writes.revisions.entry(resource.clone()).or_default();
        *last = revision.max(*last);
    }

    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
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
