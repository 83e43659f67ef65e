//! Records requests in the event log.

use axum::body::Body;
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::Status;
use coracle_registry::{AuditNotes, Conflict};
use http::Response;

use crate::front::received::Received;
use crate::front::request_info::{RequestInfo, ResourceRequest};

/// The actor in the event log.
pub(crate) const ACTOR: &str = "apiserver";

/// In the extensions of an answer: the revision of the object or the list that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRevision(pub(crate) i64);

/// Records an authorized request for a resource.
pub(crate) fn request(recorder: &Recorder, received: &Received) -> Option<EntryId> {
    let asked = received.info.resource.as_ref()?;
    recorder.record(ACTOR, Stage::ApiRequest, || {
        let detail = Detail::about(subject(&received.info))
            .caused_by(recorder.audit(&received.audit_id))
            .with("verb", received.info.verb.as_str())
            .with("user", received.user.name.as_str())
            .with("agent", received.user_agent())
            .with("audit", received.audit_id.as_str());
        let subresource = asked.at.subresource.as_str();
        let detail = if subresource.is_empty() { detail } else { detail.with("subresource", subresource) };
        if received.query.get("dryRun").is_some() { detail.with("dryRun", true) } else { detail }
    })
}

/// Records the response to the request of `entry`.
pub(crate) fn answer(
    recorder: &Recorder,
    entry: EntryId,
    info: &RequestInfo,
    notes: &AuditNotes,
    result: &Result<Response<Body>, Status>,
) {
    recorder.record(ACTOR, Stage::ApiRespond, || {
        let (code, reason) = match result {
            // An error response carries its Status in the extensions.
            Ok(response) => {
                let status = response.extensions().get::<Status>();
                (response.status().as_u16(), status.map_or("", |status| status.reason.as_str()))
            }
            Err(status) => (status.code, status.reason.as_str()),
        };
        let detail = Detail::about(subject(info)).caused_by(Some(entry)).with("code", code);
        let detail = if reason.is_empty() { detail } else { detail.with("reason", reason) };
        let read = result.as_ref().ok().and_then(|response| response.extensions().get::<ReadRevision>());
        let detail = match read {
            // Objects that are computed have no revision.
            Some(ReadRevision(revision)) if *revision > 0 => detail.with("read", *revision),
            _ => detail,
        };
        if code != 409 {
            return detail;
        }
        let Conflict { precondition, stored } = notes.noted().conflict;
        let found = [("precondition", precondition), ("stored", stored)];
        found
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .fold(detail, |detail, (name, text)| detail.with(name, text))
    });
}

/// The subject of a request in the event log: `pods/default/web`.
fn subject(info: &RequestInfo) -> String {
    let Some(ResourceRequest { at, .. }) = &info.resource else { return info.path.clone() };
    coracle_journal::subject(&at.resource.resource, &at.namespace, &at.name)
}
