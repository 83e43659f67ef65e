use std::sync::Arc;

use coracle_registry::{Authenticator, Flows, Registry};
use coracle_schema::openapi::Descriptions;

use crate::answer::renderings::Renderings;
use crate::documents::discovery::Discovery;
use crate::documents::metrics::Metrics;
use crate::documents::openapi::OpenApi;
use crate::front::anonymous::Anonymous;
use crate::front::in_flight::InFlight;
use crate::front::limits::Limits;
use crate::node_transport::NodeTransport;
use crate::shutdown::Shutdown;

/// What an API server is made of.
pub struct ApiServer {
    /// What the verbs mean.
    pub registry: Registry,
    /// Who says who is asking.
    pub authenticator: Arc<dyn Authenticator>,
    /// Where requests are let in that show no credentials.
    pub anonymous: Anonymous,
    /// The way to the nodes' own API.
    pub nodes: Arc<dyn NodeTransport>,
    /// Documents at fixed paths, such as the keys of service account tokens.
    pub documents: Vec<Document>,
    /// The words of the OpenAPI documents.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
    /// How much is served at once.
    pub limits: Limits,
    /// Sorts requests into flows, which answers name.
    pub flows: Arc<dyn Flows>,
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
    pub(crate) anonymous: Anonymous,
    pub(crate) nodes: Arc<dyn NodeTransport>,
    pub(crate) documents: Vec<Document>,
    pub(crate) limits: Limits,
    pub(crate) flows: Arc<dyn Flows>,
    pub(crate) shutdown: Shutdown,
    pub(crate) in_flight: InFlight,
    pub(crate) discovery: Discovery,
    pub(crate) openapi: OpenApi,
    pub(crate) metrics: Metrics,
    pub(crate) renderings: Arc<Renderings>,
}

impl Server {
    pub(crate) fn new(server: ApiServer) -> Self {
        let ApiServer { registry, authenticator, anonymous, nodes, documents, descriptions, limits, flows, shutdown } =
            server;
        Self {
            registry,
            authenticator,
            anonymous,
            nodes,
            documents,
            limits,
            flows,
            shutdown,
            in_flight: InFlight::new(limits),
            discovery: Discovery::default(),
            openapi: OpenApi::new(descriptions),
            metrics: Metrics::default(),
            renderings: Arc::default(),
        }
    }
}
