use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

/// The level of detail in the audit log. In Kubernetes: `audit.Level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Nothing.
    #[default]
    None,
    /// User, verb, object, time and result.
    Metadata,
    /// Also the object of the request.
    Request,
    /// Also the object of the response.
    RequestResponse,
}

/// The notes of components on a request, for the audit log; clones share them. Nothing is noted if the request is not
/// audited.
#[derive(Clone, Debug, Default)]
pub struct AuditNotes {
    level: AuditLevel,
    noted: Arc<Mutex<Noted>>,
}

/// The notes.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    /// The annotations of plug-ins and webhooks.
    pub annotations: BTreeMap<String, String>,
    /// The object of the request.
    pub request: Option<Value>,
    /// The object of the response.
    pub response: Option<Value>,
    /// The failed precondition; noted for the event log, independently of the audit level.
    pub conflict: Conflict,
}

/// A failed precondition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// The version or the uid in the request; empty if it is unknown which.
    pub precondition: String,
    /// The stored version; empty if there was no object.
    pub stored: String,
}

impl AuditNotes {
    /// The notes of a request with this audit level.
    pub fn at(level: AuditLevel) -> Self {
        Self { level, noted: Arc::default() }
    }

    /// The audit level.
    pub fn level(&self) -> AuditLevel {
        self.level
    }

    /// Adds an annotation. The first one with a key stays. In Kubernetes: `audit.AddAuditAnnotation`.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        if self.level >= AuditLevel::Metadata {
            self.noted.lock().annotations.entry(key.into()).or_insert_with(|| value.into());
        }
    }

    /// Notes the object of the request, if the level includes it.
    pub fn request(&self, make: impl FnOnce() -> Value) {
        if self.level >= AuditLevel::Request {
            let made = make();
            self.noted.lock().request = Some(made);
        }
    }

    /// Notes the object of the response, if the level includes it.
    pub fn response(&self, make: impl FnOnce() -> Value) {
        if self.level >= AuditLevel::RequestResponse {
            let made = make();
            self.noted.lock().response = Some(made);
        }
    }

    /// Notes a failed precondition.
    pub(crate) fn not_met(&self, precondition: impl Into<String>) {
        self.noted.lock().conflict.precondition = precondition.into();
    }

    /// Notes the stored version at a failed precondition.
    pub(crate) fn stored(&self, version: &str) {
        version.clone_into(&mut self.noted.lock().conflict.stored);
    }

    /// The notes so far.
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
