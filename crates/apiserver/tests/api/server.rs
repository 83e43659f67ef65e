//! A server with plain kinds out of the schema table, and a way to talk to it.

use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServerConfig, Body, Limits, NoNodes, Shutdown, router};
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{
    Attributes, Authenticated, Authenticator, Authorizer, Credentials, Decision, ExpressionPool, Flow, Flows, KindSpec,
    Registry, RegistryBuilder, Request, Rules, Strategy, User, Verb,
};
use coracle_release::Release;
use coracle_schema::{ResourceRow, Table};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// All requests are alike.
struct NoFlows;

impl Flows for NoFlows {
    fn flow_of(&self, _attributes: &Attributes) -> Option<Flow> {
        None
    }
}

/// Knows one token.
struct OneToken;

#[async_trait]
impl Authenticator for OneToken {
    async fn authenticate(&self, _: &Registry, credentials: &Credentials) -> Result<Option<Authenticated>, Status> {
        let known = credentials.bearer_token.as_deref() == Some("ann's");
        let user = Arc::new(User::new("ann", ["devs"]));
        Ok(known.then(|| Authenticated { user, audiences: Vec::new(), warnings: Vec::new() }))
    }
}

/// Lets everybody do everything but touch secrets that are not selected as public, and editors but create. It panics when
/// it is asked about `/fault`.
struct NoSecrets;

#[async_trait]
impl Authorizer for NoSecrets {
    async fn authorize(&self, _: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        match &attributes.target {
            coracle_registry::Target::Path(path) if path == "/fault" => panic!("the authorizer has a fault"),
            coracle_registry::Target::Resource(at)
                if at.resource.resource == "secrets"
                    && attributes.label_selector.to_string() != "public=yes"
                    && attributes.field_selector.exact("metadata.namespace") != Some("public") =>
            {
                Ok(Decision::NoOpinion(String::new()))
            }
            _ if attributes.verb == "create" && attributes.user.name.starts_with("editor") => {
                Ok(Decision::NoOpinion(String::new()))
            }
            _ => Ok(Decision::Allow(String::new())),
        }
    }

    async fn rules(&self, _: &Registry, _: &User, _: &str) -> Result<Rules, Status> {
        Ok(Rules::default())
    }
}

/// A server, and what belongs to it.
pub(crate) struct Server {
    router: axum::Router,
    pub(crate) shutdown: Shutdown,
    pub(crate) recorder: Recorder,
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Server {
    /// A server that serves config maps, secrets, namespaces and deployments, with the namespace `default`.
    pub(crate) async fn start() -> Self {
        Self::with_limits(Limits::default()).await
    }

    pub(crate) async fn with_limits(limits: Limits) -> Self {
        Self::within(Ambient::seeded(1), limits).await
    }

    /// A server whose costly work runs in `pool`.
    pub(crate) async fn with_expression_pool(pool: Arc<dyn ExpressionPool>) -> Self {
        Self::built(Ambient::seeded(1), Limits::default(), |builder| builder.expression_pool(pool)).await
    }

    pub(crate) async fn within(ambient: Ambient, limits: Limits) -> Self {
        Self::built(ambient, limits, |builder| builder).await
    }

    async fn built(
        ambient: Ambient,
        limits: Limits,
        complete: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
    ) -> Self {
        let recorder = Recorder::ring(1000);
        let engine = Engine::in_memory(Options::new(ambient.split("store"), recorder.clone()));
        let storage = Storage::new(Arc::new(engine));
        tokio::spawn(storage.run());
        let rows = Table::newest()
            .resources()
            .iter()
            .filter(|row| matches!(row.plural.as_str(), "configmaps" | "secrets" | "namespaces" | "deployments"));
        let plain = |row: &ResourceRow| {
            KindSpec::built_in(&Release::default(), &row.kind.group, &row.kind.version, &row.plural)
        };
        let kinds: Vec<Arc<dyn Strategy>> = rows.map(|row| Arc::new(plain(row)) as Arc<dyn Strategy>).collect();
        let builder = Registry::builder(storage, ambient, recorder.clone()).kinds(kinds);
        let registry = complete(builder.authorizer(Arc::new(NoSecrets))).build();
        let mut namespace = Object::default();
        namespace.set("apiVersion", "v1");
        namespace.set("kind", "Namespace");
        namespace.set("metadata.name", "default");
        let resource = GroupVersionResource::new("", "v1", "namespaces");
        let request = Request::new(Verb::Create, resource, registry.ambient().clock.now());
        registry.create(&request, namespace).await.unwrap();
        let shutdown = Shutdown::default();
        let server = ApiServerConfig {
            extensions: std::sync::Arc::new(coracle_apiserver::NoExtensions),
            request_headers: None,
            audit: None,
            registry,
            authenticator: Arc::new(OneToken),
            anonymous: Anonymous::default(),
            nodes: Arc::new(NoNodes),
            documents: Vec::new(),
            descriptions: Arc::new(coracle_schema::openapi::Undescribed),
            limits,
            flows: Arc::new(NoFlows),
            shutdown: shutdown.clone(),
        };
        Self { router: router(server), shutdown, recorder }
    }

    /// The server itself.
    pub(crate) fn router(&self) -> axum::Router {
        self.router.clone()
    }

    /// Sends a request and gives back the answer with its body still to be read.
    pub(crate) async fn open(&self, request: http::Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.expect("the router does not fail")
    }

    pub(crate) async fn send(&self, request: http::Request<Body>) -> Answer {
        let (parts, body) = self.open(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { code: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.send(request(Method::GET, target, &[], Body::empty())).await
    }

    pub(crate) async fn call(&self, method: Method, target: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        self.send(request(method, target, headers, Body::from(body.to_string()))).await
    }

    /// Creates a config map in `default`.
    pub(crate) async fn create_config_map(&self, name: &str) -> Value {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": name}});
        let answer = self.call(Method::POST, CONFIG_MAPS, &[], body).await;
        assert_eq!(answer.code, StatusCode::CREATED, "{}", answer.json());
        answer.json()
    }
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn request(method: Method, target: &str, headers: &[(&str, &str)], body: Body) -> http::Request<Body> {
    let mut builder = http::Request::builder().method(method).uri(target).header("authorization", "Bearer ann's");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).unwrap()
}
