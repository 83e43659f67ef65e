use std::sync::Arc;

use coracle_ambient::Random;
use coracle_registry::{Authenticator, Flows, Registry};
use coracle_schema::openapi::Descriptions;

use crate::answer::renderings::Renderings;
use crate::answer::unread::Unread;
use crate::audit::Audit;
use crate::documents::discovery::Discovery;
use crate::documents::metrics::RequestMetrics;
use crate::documents::openapi::OpenApi;
use crate::extension_transport::ExtensionTransport;
use crate::front::anonymous::Anonymous;
use crate::front::constrained_impersonation::ConstrainedImpersonation;
use crate::front::identification::Identification;
use crate::front::request_headers::RequestHeaders;
use crate::limits::Limits;
use crate::limits::budget::Budget;
use crate::limits::in_flight::InFlight;
use crate::node_transport::NodeTransport;
use crate::shutdown::Shutdown;
use coracle_ambient::Timestamp;

/// The parts of an API server. In Kubernetes: the `Config` of the generic API server.
pub struct ApiServerConfig {
    /// Implements the verbs.
    pub registry: Registry,
    /// Authenticates requests.
    pub authenticator: Arc<dyn Authenticator>,
    /// The headers with which front proxies send the user, if there are front proxies.
    pub request_headers: Option<RequestHeaders>,
    /// Where requests without credentials are accepted.
    pub anonymous: Anonymous,
    /// The transport to the kubelet API of nodes.
    pub nodes: Arc<dyn NodeTransport>,
    /// The transport to extension API servers.
    pub extensions: Arc<dyn ExtensionTransport>,
    /// Documents at fixed paths, such as the keys of service account tokens.
    pub documents: Vec<Document>,
    /// The descriptions in the OpenAPI documents.
    pub descriptions: Arc<dyn Descriptions + Send + Sync>,
    /// The limits of concurrent requests.
    pub limits: Limits,
    /// Classifies requests into flows, which responses name in headers.
    pub flows: Arc<dyn Flows>,
    /// The audit policy and log.
    pub audit: Option<Audit>,
    /// Ends the watches and makes `/readyz` fail when the server shuts down.
    pub shutdown: Shutdown,
}

impl ApiServerConfig {
    /// The identification of the requests that the router of this configuration gets.
    pub fn identification(&self) -> Identification {
        Identification {
            registry: self.registry.clone(),
            authenticator: Arc::clone(&self.authenticator),
            request_headers: self.request_headers.clone(),
            anonymous: self.anonymous,
        }
    }
}

/// A document at a fixed path, for users who may `get` the path.
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
pub(crate) struct ApiServer {
    pub(crate) registry: Registry,
    pub(crate) identification: Identification,
    pub(crate) nodes: Arc<dyn NodeTransport>,
    pub(crate) extensions: Arc<dyn ExtensionTransport>,
    pub(crate) documents: Vec<Document>,
    pub(crate) limits: Limits,
    pub(crate) flows: Arc<dyn Flows>,
    pub(crate) audit: Option<Audit>,
    /// A stream of its own, so that a request without an audit id does not change other random numbers.
    pub(crate) audit_ids: Random,
    pub(crate) constrained_impersonation: ConstrainedImpersonation,
    /// When the server started.
    pub(crate) started: Timestamp,
    pub(crate) shutdown: Shutdown,
    pub(crate) in_flight: InFlight,
    /// The bytes of incomplete request bodies.
    pub(crate) bodies: Budget,
    /// The bytes of responses that clients have not read.
    pub(crate) unread: Unread,
    pub(crate) discovery: Discovery,
    pub(crate) openapi: OpenApi,
    pub(crate) metrics: RequestMetrics,
    pub(crate) renderings: Arc<Renderings>,
}

impl ApiServer {
    pub(crate) fn new(config: ApiServerConfig) -> Self {
        let identification = config.identification();
        let ApiServerConfig {
            registry,
            nodes,
            extensions,
            documents,
            descriptions,
            limits,
            flows,
            audit,
            shutdown,
            ..
        } = config;
        let started = registry.ambient().clock.now();
        let audit_ids = registry.ambient().random.split("audit");
        Self {
            registry,
            identification,
            nodes,
            extensions,
            documents,
            limits,
            flows,
            audit,
            audit_ids,
            constrained_impersonation: ConstrainedImpersonation::default(),
            started,
            shutdown,
            in_flight: InFlight::new(limits),
            bodies: Budget::new(limits.unread_body_bytes),
            unread: Unread::new(limits.unread_answer_bytes),
            discovery: Discovery::default(),
            openapi: OpenApi::new(descriptions),
            metrics: RequestMetrics::default(),
            renderings: Arc::default(),
        }
    }

    /// Drops the metrics of resources that are not served any more, such as those of deleted CustomResourceDefinitions.
    pub(crate) fn forget_unserved(&self) {
        self.metrics.forget(|resource| self.registry.kind(resource).is_some());
    }
}
