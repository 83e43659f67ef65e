//! Writes that a kube-apiserver 1.35.3 has refused or accepted are answered with the same code and the same words.
//!
//! Each file has a line for each request, in the order in which they were sent: `method`, `path`, `type` (the short name
//! of the media type), `body`, and of the answer `code` and, for a refusal, `message`. Lines with `"setup": true` create
//! what the following requests change, the others are dry runs.

use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServerConfig, Body, Limits, NoExtensions, NoNodes, Shutdown, router};
use coracle_journal::Recorder;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use coracle_release::Release;
use coracle_resources::{AuthenticationTrust, Config, ServerControllers, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::Value;
use tower::ServiceExt;
use tower::util::BoxCloneService;

/// One request and its answer.
#[derive(Deserialize)]
struct Exchange {
    #[serde(default)]
    setup: bool,
    method: String,
    path: String,
    #[serde(default, rename = "type")]
    media_type: String,
    #[serde(default)]
    body: Value,
    code: u16,
    #[serde(default)]
    message: String,
}

/// Authenticates every request as one administrator.
struct Administrator;

#[async_trait]
impl Authenticator for Administrator {
    async fn authenticate(&self, _: &Registry, _: &Credentials) -> Result<Option<Authenticated>, Status> {
        Ok(Some(Authenticated {
            user: Arc::new(User::new("admin", ["system:masters"])),
            audiences: Vec::new(),
            warnings: Vec::new(),
        }))
    }
}

/// An API server with the built-in kinds and no admission plug-ins.
struct Server(BoxCloneService<http::Request<Body>, http::Response<Body>, Infallible>);

impl Server {
    fn start() -> Self {
        let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
        let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(ambient.split("store"), recorder.clone()))));
        tokio::spawn(storage.run());
        let release = Release::named("1.35").unwrap();
        let kinds = kinds(&Config { release: release.clone(), ..Config::default() });
        let registry = Registry::builder(storage, ambient, recorder).release(release).kinds(kinds).build();
        let flows = ServerControllers::new(&registry, AuthenticationTrust::default()).flows();
        Self(BoxCloneService::new(router(ApiServerConfig {
            extensions: Arc::new(NoExtensions),
            request_headers: None,
            audit: None,
            registry,
            authenticator: Arc::new(Administrator),
            anonymous: Anonymous::default(),
            nodes: Arc::new(NoNodes),
            documents: Vec::new(),
            descriptions: Arc::new(coracle_schema::openapi::Undescribed),
            limits: Limits::default(),
            flows,
            shutdown: Shutdown::default(),
        })))
    }

    /// The code and the message of the answer; an accepted request has no message.
    async fn answer(&self, exchange: &Exchange) -> (u16, String) {
        let media_type = match exchange.media_type.as_str() {
            "merge" => "application/merge-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "apply" => "application/apply-patch+yaml",
            _ => "application/json",
        };
        let request = http::Request::builder().method(exchange.method.as_str()).uri(&exchange.path);
        let request = request.header("content-type", media_type).header("accept", "application/json");
        let body = Body::from(exchange.body.to_string());
        let answer = self.0.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = if code < 300 { "" } else { document["message"].as_str().unwrap_or_default() };
        (code, message.to_owned())
    }
}

/// Replays a recording and lists the answers that differ.
async fn replay(recording: &str) {
    let server = Server::start();
    let mut differences = Vec::new();
    for line in recording.lines() {
        let exchange: Exchange = serde_json::from_str(line).unwrap();
        let (code, message) = server.answer(&exchange).await;
        if (code, message.as_str()) != (exchange.code, exchange.message.as_str()) {
            assert!(!exchange.setup, "{line}\n{code} {message}");
            let Exchange { method, path, body, code: expected, message: words, .. } = &exchange;
            differences
                .push(format!("{method} {path} {body}\n  expected {expected} {words}\n  answered {code} {message}"));
        }
    }
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn certificate_requests_are_checked_as_by_kube_apiserver() {
    replay(include_str!("certificate_requests.jsonl")).await;
}

#[tokio::test(start_paused = true)]
async fn an_update_without_a_version_is_answered_as_its_kind_does() {
    replay(include_str!("unconditional_updates.jsonl")).await;
}

#[tokio::test(start_paused = true)]
async fn times_are_read_as_by_go() {
    replay(include_str!("times.jsonl")).await;
}

#[tokio::test(start_paused = true)]
async fn statuses_are_checked_as_by_kube_apiserver() {
    replay(include_str!("statuses.jsonl")).await;
}

#[tokio::test(start_paused = true)]
async fn definitions_of_custom_resources_are_checked_as_by_kube_apiserver() {
    replay(include_str!("definitions.jsonl")).await;
}

#[tokio::test(start_paused = true)]
async fn changes_of_definitions_are_checked_as_by_kube_apiserver() {
    replay(include_str!("definition_updates.jsonl")).await;
}
