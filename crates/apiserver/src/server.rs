use std::sync::Arc;

use coracle_registry::{Authenticator, Flows, Registry};
use coracle_schema::openapi::Descriptions;

use crate::answer::renderings::Renderings;
use crate::answer::unread::Unread;
use crate::audit::Audit;
use crate::documents::discovery::Discovery;
use crate::documents::metrics::Metrics;
use crate::documents::openapi::OpenApi;
use crate::extension_transport::ExtensionTransport;
use crate::front::anonymous::Anonymous;
use crate::front::budget::Budget;
use crate::front::in_flight::InFlight;
use crate::front::limits::Limits;
use crate::front::request_headers::RequestHeaders;
use crate::node_transport::NodeTransport;
use crate::shutdown::Shutdown;

/// What an API server is made of.
pub struct ApiServer {
    /// What the verbs mean.
    pub registry: Registry,
    /// Who says who is asking.
    pub authenticator: Arc<dyn Authenticator>,
    /// By which headers front proxies say who is asking, if there are any.
    pub request_headers: Option<RequestHeaders>,
    /// Where requests are let in that show no credentials.
    pub anonymous: Anonymous,
    /// The way to the nodes' own API.
    pub nodes: Arc<dyn NodeTransport>,
    /// The way to API servers beside this one.
    pub extensions: Arc<dyn ExtensionTransport>,
    /// Documents at fixed paths, such as the keys of service account tokens.
    pub documents: Vec<Document>,
    /// The words of the OpenAPI documents.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
    /// How much is served at once.
    pub limits: Limits,
    /// Sorts requests into flows, which answers name.
    pub flows: Arc<dyn Flows>,
    /// What is kept of requests, and where.
    pub audit: Option<Audit>,
    /// Ends the watches, and makes `/readyz` say that the server goes.
    pub shutdown: Shutdown,
}

/// A document at a fixed path, for those who may get the path.
#[derive(Clone, Debug)]
pub struct Document {
    /// The path.
    pub path: String,
    /// The `Content-Type`.
    pub media_type: String,
    /// The content.
    pub body: Vec<u8>,
}

/// The running server behind the router.
pub(crate) struct Server {
    pub(crate) registry: Registry,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) request_headers: Option<RequestHeaders>,
    pub(crate) anonymous: Anonymous,
    pub(crate) nodes: Arc<dyn NodeTransport>,
    pub(crate) extensions: Arc<dyn ExtensionTransport>,
    pub(crate) documents: Vec<Document>,
    pub(crate) limits: Limits,
    pub(crate) flows: Arc<dyn Flows>,
    pub(crate) audit: Option<Audit>,
    pub(crate) shutdown: Shutdown,
    pub(crate) in_flight: InFlight,
    /// What requests hold whose bodies have not come to their end.
    pub(crate) bodies: Budget,
    /// What answers hold that clients have not read.
    pub(crate) unread: Unread,
    pub(crate) discovery: Discovery,
    pub(crate) openapi: OpenApi,
    pub(crate) metrics: Metrics,
    pub(crate) renderings: Arc<Renderings>,
}

impl Server {
    pub(crate) fn new(server: ApiServer) -> Self {
        let ApiServer {
            registry,
            authenticator,
            request_headers,
            anonymous,
            nodes,
            extensions,
            documents,
            descriptions,
            limits,
            flows,
            audit,
            shutdown,
        } = server;
        Self {
            registry,
            authenticator,
            request_headers,
            anonymous,
            nodes,
            extensions,
            documents,
            limits,
            flows,
            audit,
            shutdown,
            in_flight: InFlight::new(limits),
            bodies: Budget::new(limits.unread_body_bytes),
            unread: Unread::new(limits.unread_answer_bytes),
            discovery: Discovery::default(),
            openapi: OpenApi::new(descriptions),
            metrics: Metrics::default(),
            renderings: Arc::default(),
        }
    }

    /// Forgets what was counted of resources that are not served any more, as of definitions that were deleted.
    pub(crate) fn forget_unserved(&self) {
        self.metrics.forget(|resource| self.registry.kind(resource).is_some());
    }
}
