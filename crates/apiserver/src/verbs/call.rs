use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_handover::Offer;
use coracle_meta::{Object, ResourcePath, Status};
use coracle_registry::{FieldValidation, Kind, Request, Stored, Verb, Warnings, WriteParameters};
use http::{HeaderMap, Response, StatusCode};

use crate::answer::negotiate::{Negotiated, body_format};
use crate::answer::render::Rendering;
use crate::answer::respond;
use crate::front::body::{self, ObjectBody};
use crate::front::options::WriteOptions;
use crate::front::received::Received;
use crate::front::request_info::ResourceRequest;
use crate::front::web_socket::WebSocketUpgrade;
use crate::limits::in_flight::Place;
use crate::offload::Weight;
use crate::query::Query;
use crate::server::ApiServer;

/// One call of a verb: the request, its kind, and the negotiated format of the response.
pub(super) struct VerbCall {
    pub(super) server: Arc<ApiServer>,
    pub(super) kind: Arc<Kind>,
    pub(super) request: Request,
    pub(super) asked: ResourceRequest,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    pub(super) how: Negotiated,
    pub(super) upgrade: Option<WebSocketUpgrade>,
    /// Whether the request is heavy.
    pub(super) weight: Weight,
    /// The place in flight: taken when the body is complete, or before the call for verbs without a body.
    pub(super) place: Option<Place>,
}

impl VerbCall {
    /// Waits for the whole body, up to the server's limit, and then takes a place among the requests in flight.
    pub(super) async fn read_body(&mut self) -> Result<Bytes, Status> {
        let held = self.server.bodies.account(&self.request.user);
        let body = body::read(std::mem::take(&mut self.body), self.server.limits.body_bytes, held).await?;
        self.place = Some(self.server.in_flight.enter(self.request.verb.as_str(), &self.request.user)?);
        self.weight.add(body.len()).await;
        Ok(body)
    }

    /// Reads a body with an object; a body with an unsupported media type is not read.
    pub(super) async fn read_object(&mut self) -> Result<ObjectBody, Status> {
        let format = body_format(&self.headers, self.kind.offers().formats)?;
        Ok(ObjectBody { format, bytes: self.read_body().await? })
    }

    /// Decodes the object in a body.
    pub(super) fn decode(&self, body: &ObjectBody) -> Result<Object, Status> {
        let object = body::decode(&self.kind, &self.request, body)?;
        self.request.audit.request(|| object.clone().into_value());
        Ok(object)
    }

    /// Applies the common query options of writes.
    pub(super) fn set_write_options(&mut self, options: &WriteOptions) {
        self.request.dry_run = options.dry_run;
        self.request.field_validation = options.field_validation;
        self.request.said = options.said.clone();
        if !options.said.field_manager.is_empty() {
            self.request.field_manager.clone_from(&options.said.field_manager);
        }
    }

    /// How objects are rendered for this client.
    pub(super) fn rendering(&self) -> Result<Rendering, Status> {
        Rendering::new(&self.kind, &self.request, self.how, &self.query, &self.server.renderings)
    }

    /// One object as the response. An object of kind Status (of a binding, an eviction) is written as a Status.
    pub(super) fn respond_object(&self, code: StatusCode, object: &Stored) -> Result<Response<Body>, Status> {
        let rendering = self.rendering()?;
        self.request.audit.response(|| object.object().to_value());
        let mut response = respond::bytes(code, self.how.format, rendering.object(object)?);
        if let Some(handed) = rendering.handed(object) {
            coracle_handover::offer(&mut response, Offer::Object(handed));
        }
        Ok(response)
    }
}

/// The request for the registry.
pub(super) fn request(
    server: &ApiServer,
    received: &Received,
    kind: &Kind,
    asked: &ResourceRequest,
    verb: Verb,
) -> Request {
    let agent = received.user_agent();
    Request {
        user: Arc::clone(&received.user),
        verb,
        at: path_of(kind, asked),
        dry_run: false,
        audit_id: received.audit_id.clone(),
        user_agent: agent.to_owned(),
        field_manager: manager_of(agent),
        cause: received.entry,
        as_of: received.as_of,
        field_validation: FieldValidation::default(),
        said: WriteParameters::default(),
        now: server.registry.ambient().clock.now(),
        warnings: Warnings::default(),
        audit: received.audit.clone(),
    }
}

/// The path for the registry: a cluster-scoped kind has no namespace, and a selector is not a name.
fn path_of(kind: &Kind, asked: &ResourceRequest) -> Arc<ResourcePath> {
    let is_in_place = kind.is_namespaced() || asked.at.namespace.is_empty();
    let is_named = asked.is_item || asked.at.name.is_empty();
    let mut at = Arc::clone(&asked.at);
    if !is_in_place {
        Arc::make_mut(&mut at).namespace.clear();
    }
    if !is_named {
        Arc::make_mut(&mut at).name.clear();
    }
    at
}

/// The default manager of a client: its user agent up to the first slash, without unprintable characters.
///
/// In Kubernetes: `managerOrUserAgent`.
fn manager_of(agent: &str) -> String {
    let product = agent.split('/').next().unwrap_or("");
    let mut manager = String::new();
    for sign in product.chars().filter(|sign| !sign.is_control()) {
        if manager.len() + sign.len_utf8() > 128 {
            break;
        }
        manager.push(sign);
    }
    manager
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_the_agent_up_to_its_first_slash() {
        assert_eq!(manager_of("kubectl/v1.35.0 (linux/amd64)"), "kubectl");
        assert_eq!(manager_of(""), "");
        assert_eq!(manager_of(&"é".repeat(100)).len(), 128);
    }
}
