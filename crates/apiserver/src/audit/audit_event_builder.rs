use std::sync::Arc;

use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::{Attributes, AuditNotes, Noted, Registry, User};
use http::request::Parts;
use http::{Response, StatusCode};
use parking_lot::Mutex;

use super::body::Ending;
use super::event::{AuditedResponse, Facts, without_managed_fields};
use super::policy::Kept;
use super::{Audit, Stage};
use crate::front::peer_address::PeerAddress;

/// The audit events of one request. The last one is written however the request ends, including a panic and a client
/// that disconnects.
pub(crate) struct AuditEventBuilder {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    audit: Audit,
    registry: Registry,
    kept: Kept,
    facts: Facts,
    notes: AuditNotes,
    /// The outcome; `None` while the request runs.
    outcome: Mutex<Option<AuditedResponse>>,
    /// Whether the last event was written.
    is_over: Mutex<bool>,
}

impl AuditEventBuilder {
    /// Starts the events of a request with these `attributes`, if the policy records it.
    pub(crate) fn begin(
        audit: &Audit,
        registry: &Registry,
        parts: &Parts,
        audit_id: &str,
        attributes: Attributes,
        impersonated: Option<&Arc<User>>,
    ) -> Option<Self> {
        let kept = audit.policy.of(&attributes).clone();
        if kept.level == coracle_registry::AuditLevel::None {
            return None;
        }
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let facts = Facts {
            level: kept.level,
            audit_id: audit_id.to_owned(),
            uri: parts.uri.path_and_query().map_or_else(|| parts.uri.to_string(), ToString::to_string),
            attributes,
            impersonated: impersonated.map(|user| User::clone(user)),
            sources: sources(header("x-forwarded-for"), header("x-real-ip"), parts.extensions.get::<PeerAddress>()),
            agent: header("user-agent").to_owned(),
            received: registry.ambient().clock.now(),
        };
        let inner = Inner {
            audit: audit.clone(),
            registry: registry.clone(),
            notes: AuditNotes::at(kept.level),
            kept,
            facts,
            outcome: Mutex::default(),
            is_over: Mutex::new(false),
        };
        Some(Self { inner: Arc::new(inner) })
    }

    /// The annotations that other components add to the request.
    pub(crate) fn notes(&self) -> &AuditNotes {
        &self.inner.notes
    }

    /// Writes the event RequestReceived.
    pub(crate) fn received(&self) {
        self.inner.write(Stage::RequestReceived, &Noted::default());
    }

    /// Writes the event of the response; for a stream, the last event follows when its body ends.
    pub(crate) fn answered(self, mut response: Response<Body>, is_stream: bool) -> Response<Body> {
        let code = response.status().as_u16();
        let status = response.extensions_mut().remove::<Status>();
        *self.inner.outcome.lock() = Some(AuditedResponse { code, status });
        if !is_stream {
            return response;
        }
        self.inner.write(Stage::ResponseStarted, &self.inner.noted());
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return response;
        }
        // A client that takes the offer does not read the body, so the end of the response would not be noticed.
        coracle_handover::withdraw(&mut response);
        response.map(|body| Body::new(Ending::new(body, self)))
    }
}

impl Drop for AuditEventBuilder {
    fn drop(&mut self) {
        self.inner.end();
    }
}

impl Inner {
    fn noted(&self) -> Noted {
        let mut noted = self.notes.noted();
        if self.kept.omits_managed_fields {
            noted.request = noted.request.map(without_managed_fields);
            noted.response = noted.response.map(without_managed_fields);
        }
        noted
    }

    fn end(&self) {
        if std::mem::replace(&mut *self.is_over.lock(), true) {
            return;
        }
        if std::thread::panicking() {
            let status = Status::internal("APIServer panic'd");
            *self.outcome.lock() = Some(AuditedResponse { code: 500, status: Some(status) });
            return self.write(Stage::Panic, &self.noted());
        }
        self.outcome.lock().get_or_insert_with(|| {
            let status = Status { code: 200, message: "Connection closed early".to_owned(), ..Status::success() };
            AuditedResponse { code: 200, status: Some(status) }
        });
        self.write(Stage::ResponseComplete, &self.noted());
    }

    fn write(&self, stage: Stage, noted: &Noted) {
        if self.kept.omits.contains(&stage) {
            return;
        }
        let outcome = self.outcome.lock().clone();
        let event = self.facts.event(stage, self.registry.ambient().clock.now(), outcome.as_ref(), noted);
        self.audit.sink.take(format!("{event}\n").into_bytes());
    }
}

/// The addresses of the client and of the proxies of a request. In Kubernetes: `utilnet.SourceIPs`.
fn sources(forwarded_for: &str, real: &str, peer: Option<&PeerAddress>) -> Vec<String> {
    let address = |text: &str| text.trim().parse::<std::net::IpAddr>().ok();
    let mut all: Vec<_> = forwarded_for.split(',').filter_map(address).collect();
    let real = address(real).filter(|real| !all.contains(real));
    all.extend(real);
    let peer = peer.map(|peer| peer.0.to_canonical()).filter(|peer| all.last() != Some(peer));
    all.extend(peer);
    all.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_source_is_the_one_that_is_known() {
        let peer = PeerAddress([10, 0, 0, 3].into());
        assert_eq!(sources("10.0.0.1, nonsense", "10.0.0.2", Some(&peer)), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        assert_eq!(sources("10.0.0.3", "", Some(&peer)), ["10.0.0.3"]);
    }
}
