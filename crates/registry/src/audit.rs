use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

/// How much of a request is kept in the audit log. In Kubernetes: `audit.Level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Nothing.
    #[default]
    None,
    /// Who, what, when and how it ended.
    Metadata,
    /// And the object of the request.
    Request,
    /// And the object of the answer.
    RequestResponse,
}

/// What those note of a request who work on it, for the audit log; clones share it. Where nothing is kept nothing is
/// noted.
#[derive(Clone, Debug, Default)]
pub struct AuditNotes {
    level: AuditLevel,
    noted: Arc<Mutex<Noted>>,
}

/// What was noted.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    /// What plug-ins and webhooks have to say.
    pub annotations: BTreeMap<String, String>,
    /// What the client sent.
    pub request: Option<Value>,
    /// What it was answered.
    pub response: Option<Value>,
    /// Why its precondition was not met; noted for the event log, whatever is kept for the audit log.
    pub conflict: Conflict,
}

/// A precondition that was not met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// The version, or the uid, that the request named; empty if it is not known which.
    pub precondition: String,
    /// The version that was stored; empty if nothing was.
    pub stored: String,
}

impl AuditNotes {
    /// Of a request of which so much is kept.
    pub fn at(level: AuditLevel) -> Self {
        Self { level, noted: Arc::default() }
    }

    /// How much is kept.
    pub fn level(&self) -> AuditLevel {
        self.level
    }

    /// Adds an annotation. The first of a name stays. In Kubernetes: `audit.AddAuditAnnotation`.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        if self.level >= AuditLevel::Metadata {
            self.noted.lock().annotations.entry(key.into()).or_insert_with(|| value.into());
        }
    }

    /// Notes what the client sent, if that is kept.
    pub fn request(&self, make: impl FnOnce() -> Value) {
        if self.level >= AuditLevel::Request {
            let made = make();
            self.noted.lock().request = Some(made);
        }
    }

    /// Notes what the client is answered, if that is kept.
    pub fn response(&self, make: impl FnOnce() -> Value) {
        if self.level >= AuditLevel::RequestResponse {
            let made = make();
            self.noted.lock().response = Some(made);
        }
    }

    /// Notes a precondition that was not met.
    pub(crate) fn not_met(&self, precondition: impl Into<String>) {
        self.noted.lock().conflict.precondition = precondition.into();
    }

    /// Notes which version was stored when a precondition was not met.
    pub(crate) fn stored(&self, version: &str) {
        version.clone_into(&mut self.noted.lock().conflict.stored);
    }

    /// What was noted so far.
    pub fn noted(&self) -> Noted {
        self.noted.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recorded_annotations_are_built_and_the_first_of_a_name_stays() {
        let notes = AuditNotes::at(AuditLevel::Metadata);
        notes.annotate("a", "1");
        notes.annotate("a", "2");
        notes.request(|| unreachable!("nobody keeps it"));
        assert_eq!(notes.noted().annotations["a"], "1");
        AuditNotes::default().annotate("a", "1");
        assert!(AuditNotes::default().noted().annotations.is_empty());
    }
}
