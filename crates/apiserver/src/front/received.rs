use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_registry::{AsOf, AuditNotes, User};
use http::{HeaderMap, Method};

use crate::front::deadline;
use crate::front::passed_on::PassedOn;
use crate::front::path_service::PathService;
use crate::front::request_info::RequestInfo;
use crate::front::upgrade::Upgrade;
use crate::offload::Weight;
use crate::query::Query;

/// A received request.
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    pub(crate) info: Arc<RequestInfo>,
    pub(crate) audit_id: String,
    pub(crate) user: Arc<User>,
    /// Whether the request came over a socket.
    pub(crate) is_remote: bool,
    /// The connection to upgrade, if the client requests an upgrade.
    pub(crate) upgrade: Option<Upgrade>,
    /// How the request is forwarded, if an extension API server serves it.
    pub(crate) passed_on: Option<PassedOn>,
    /// The service of its path, if the path is not the API server's own.
    pub(crate) path_service: Option<PathService>,
    /// Whether the request is heavy.
    pub(crate) weight: Weight,
    /// Whether a read is answered as of an older revision.
    pub(crate) as_of: Option<AsOf>,
    /// The annotations for the audit log.
    pub(crate) audit: AuditNotes,
    /// The entry of this request in the event log.
    pub(crate) entry: Option<EntryId>,
}

impl Received {
    /// Whether the response is a stream without a time limit.
    pub(crate) fn is_stream(&self) -> bool {
        let is_passed_on = self.passed_on.as_ref().is_some_and(PassedOn::is_upgrade);
        is_passed_on || self.path_service.is_some() || deadline::is_long_running(&self.info)
    }

    /// Whether the verb reads a body, and itself takes a place when the body is complete.
    pub(crate) fn reads_body(&self) -> bool {
        let writes = matches!(self.info.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        self.passed_on.is_none() && self.info.resource.is_some() && writes
    }

    /// The user agent.
    pub(crate) fn user_agent(&self) -> &str {
        self.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}
