use std::sync::{Arc, Mutex, PoisonError};

use coracle_journal::{Detail, EntryId, Recorder, Stage};

use crate::request::Written;

/// On whose behalf a client writes: what the event log says of its writes, and what caused them.
///
/// Clones share the list of writes.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    actor: Arc<str>,
    subject: Arc<str>,
    causes: Arc<[EntryId]>,
    writes: Arc<Mutex<Vec<EntryId>>>,
}

impl Origin {
    /// Writes of `actor`, about `subject` (the key of a sync, say), caused by these entries.
    pub fn new(actor: &str, subject: &str, causes: impl IntoIterator<Item = EntryId>) -> Self {
        Self {
            actor: actor.into(),
            subject: subject.into(),
            causes: causes.into_iter().collect(),
            writes: Arc::default(),
        }
    }

    /// The entries of what was written so far.
    pub fn writes(&self) -> Vec<EntryId> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
            self.writes.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
    }
}
