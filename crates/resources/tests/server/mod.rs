//! A whole API server of Kubernetes 1.35 without plug-ins, in this process, that takes each client for an administrator.

use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServerConfig, Body, Limits, NoNodes, Shutdown, router};
use coracle_journal::Recorder;
use coracle_meta::{Cidr, Status};
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use coracle_release::Release;
use coracle_resources::{AuthenticationTrust, Config, ServerControllers, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use tower::util::BoxCloneService;

/// Takes each client for an administrator.
struct Administrators;

#[async_trait]
impl Authenticator for Administrators {
    async fn authenticate(&self, _: &Registry, _: &Credentials) -> Result<Option<Authenticated>, Status> {
        let user = Arc::new(User::new("admin", ["system:masters"]));
        Ok(Some(Authenticated { user, audiences: Vec::new(), warnings: Vec::new() }))
    }
}

pub(crate) type Server = BoxCloneService<http::Request<Body>, http::Response<Body>, Infallible>;

pub(crate) fn server() -> Server {
    let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
    let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(ambient.split("store"), recorder.clone()))));
    tokio::spawn(storage.run());
    let release = Release::named("1.35").unwrap();
    let service_cluster_ip_ranges = vec![Cidr::parse("10.0.0.0/16").unwrap()];
    let config = Config { release: release.clone(), service_cluster_ip_ranges, ..Config::default() };
    let registry = Registry::builder(storage, ambient, recorder).release(release).kinds(kinds(&config)).build();
    let flows = ServerControllers::new(&registry, AuthenticationTrust::default()).flows();
    BoxCloneService::new(router(ApiServerConfig {
        extensions: Arc::new(coracle_apiserver::NoExtensions),
        request_headers: None,
        audit: None,
        registry,
        authenticator: Arc::new(Administrators),
        anonymous: Anonymous::default(),
        nodes: Arc::new(NoNodes),
        documents: Vec::new(),
        descriptions: Arc::new(coracle_schema::openapi::Undescribed),
        limits: Limits::default(),
        flows,
        shutdown: Shutdown::default(),
    }))
}
