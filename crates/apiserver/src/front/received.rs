use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use coracle_journal::EntryId;
use coracle_registry::User;
use http::{HeaderMap, Method};

use crate::front::passed_on::PassedOn;
use crate::front::query::Query;
use crate::front::request_info::RequestInfo;

/// A request as it came, with what was read from it.
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    pub(crate) info: Arc<RequestInfo>,
    pub(crate) audit_id: String,
    pub(crate) user: Arc<User>,
    /// The other end of a connection that may become a WebSocket, if the client asks for one.
    pub(crate) upgrade: Option<WebSocketUpgrade>,
    /// Whom it is passed on to, if another API server answers.
    pub(crate) passed_on: Option<PassedOn>,
    /// The entry of this request in the event log.
    pub(crate) entry: Option<EntryId>,
}

impl Received {
    /// Who the client says it is.
    pub(crate) fn user_agent(&self) -> &str {
        self.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}
