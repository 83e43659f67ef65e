//! The audit log: who did what, when, and with which result. A policy sets the level of detail.
//!
//! ```text
//! request --AuditPolicy (pure)--> Rule --AuditEventBuilder: RequestReceived ... ResponseComplete--> event (JSON) --> AuditSink
//! ```
//! In Kubernetes: `apiserver/pkg/audit`, `WithAudit`.
//! Not here: annotations of plug-ins and webhooks (`registry::AuditNotes`).

mod audit_event_builder;
mod audit_log;
mod body;
mod event;
mod policy;

use std::sync::Arc;

pub(crate) use audit_event_builder::AuditEventBuilder;
pub use audit_log::{AuditLog, AuditLogError};
pub use policy::AuditPolicy;
pub(crate) use policy::Stage;

/// The destination of audit events, one line each. A sink never delays a request, and counts lost events.
pub trait AuditSink: Send + Sync + 'static {
    /// Takes an event: JSON with a line feed at its end.
    fn take(&self, line: Vec<u8>);

    /// The number of lost events by Kubernetes' name of the plug-in that lost them: `buffered` had no room, `log` could
    /// not write.
    fn lost(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Waits until all events are written; no more events follow.
    fn close(&self) {}
}

/// The parts of the audit log.
#[derive(Clone)]
pub struct Audit {
    /// The policy.
    pub policy: Arc<AuditPolicy>,
    /// The destination.
    pub sink: Arc<dyn AuditSink>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("policy", &self.policy).finish_non_exhaustive()
    }
}
