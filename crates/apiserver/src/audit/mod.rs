//! The audit log: who did what, when, and how it ended; how much of it a policy says.
//!
//! ```text
//! request --AuditPolicy (pure)--> Rule --AuditEventBuilder: RequestReceived ... ResponseComplete--> event (JSON) --> AuditSink
//! ```
//! In Kubernetes: `apiserver/pkg/audit`, `WithAudit`.
//! Not here: files (`cluster`), what plug-ins and webhooks have to say (`registry::AuditNotes`).

mod audit_event_builder;
mod body;
mod event;
mod policy;

use std::sync::Arc;

pub(crate) use audit_event_builder::AuditEventBuilder;
pub use policy::AuditPolicy;
pub(crate) use policy::Stage;

/// Where events go, a line each. Whoever takes them never holds up a request, and says when one is lost.
pub trait AuditSink: Send + Sync + 'static {
    /// Takes an event: JSON with a line feed at its end.
    fn take(&self, line: Vec<u8>);

    /// How many events were lost so far, by the plug-in that lost them, as Kubernetes names it: `buffered` had no room,
    /// `log` could not write.
    fn lost(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Waits until everything that was taken is kept; nothing more comes.
    fn close(&self) {}
}

/// What the audit log is made of.
#[derive(Clone)]
pub struct Audit {
    /// What is kept of which request.
    pub policy: Arc<AuditPolicy>,
    /// Where it goes.
    pub sink: Arc<dyn AuditSink>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("policy", &self.policy).finish_non_exhaustive()
    }
}
