//! A kind is one file and one line: `ship.rs` and the line in `Server::start` are all that a made-up kind takes to be
//! served over HTTP as Kubernetes' own kinds are. `docs/adding-a-kind.md` says the same in words.

mod ship;

use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServerConfig, Body, Limits, NoNodes, Shutdown, router};
use coracle_journal::Recorder;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use coracle_resources::{AuthenticationTrust, Config, ServerControllers, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use tower::util::BoxCloneService;

/// Takes everybody for one user.
struct Anybody;

#[async_trait]
impl Authenticator for Anybody {
    async fn authenticate(&self, _: &Registry, _: &Credentials) -> Result<Option<Authenticated>, Status> {
        Ok(Some(Authenticated {
            user: Arc::new(User::new("ann", ["sailors"])),
            audiences: Vec::new(),
            warnings: Vec::new(),
        }))
    }
}

/// An API server with Kubernetes' own kinds and one more.
struct Server(BoxCloneService<http::Request<Body>, http::Response<Body>, Infallible>);

impl Server {
    async fn start() -> Self {
        let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
        let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(ambient.split("store"), recorder.clone()))));
        tokio::spawn(storage.run());
        let mut kinds = kinds(&Config::default());
        kinds.push(Arc::new(ship::kind()));
        let registry = Registry::builder(storage, ambient, recorder).kinds(kinds).build();
        let flows = ServerControllers::new(&registry, AuthenticationTrust::default()).flows();
        let server = Self(BoxCloneService::new(router(ApiServerConfig {
            extensions: std::sync::Arc::new(coracle_apiserver::NoExtensions),
            request_headers: None,
            audit: None,
            registry,
            authenticator: Arc::new(Anybody),
            anonymous: Anonymous::default(),
            nodes: Arc::new(NoNodes),
            documents: Vec::new(),
            descriptions: Arc::new(coracle_schema::openapi::Undescribed),
            limits: Limits::default(),
            flows,
            shutdown: Shutdown::default(),
        })));
        let harbour = json!({"metadata": {"name": "harbour"}});
        assert_eq!(server.send("POST", "/api/v1/namespaces", "", harbour).await.0, 201);
        server
    }

    /// The code and the document of the answer.
    async fn send(&self, method: &str, path: &str, accept: &str, body: Value) -> (u16, Value) {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let request = request.header("accept", if accept.is_empty() { "application/json" } else { accept });
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let answer = self.0.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

const SHIPS: &str = "/apis/harbour.example/v1/namespaces/harbour/ships";

fn ship(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "harbour.example/v1", "kind": "Ship", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_created_with_its_defaults_and_counts_its_changes() {
    let server = Server::start().await;
    let (code, made) = server.send("POST", SHIPS, "", ship("argo", json!({"sails": "square"}))).await;
    assert_eq!((code, &made["spec"]), (201, &json!({"replicas": 2, "sails": "square"})));
    assert_eq!(made["metadata"]["generation"], 1);
    let one = format!("{SHIPS}/argo");
    let (_, labelled) = server.send("PATCH", &one, "", json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(labelled["metadata"]["generation"], 1);
    let (code, scale) = server.send("PATCH", &format!("{one}/scale"), "", json!({"spec": {"replicas": 3}})).await;
    assert_eq!((code, &scale["spec"]), (200, &json!({"replicas": 3})));
    let (_, ship) = server.send("GET", &one, "", Value::Null).await;
    assert_eq!((&ship["metadata"]["generation"], &ship["spec"]["replicas"]), (&json!(2), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn a_kind_refuses_what_its_rules_refuse() {
    let server = Server::start().await;
    let (code, status) = server.send("POST", SHIPS, "", ship("raft", json!({"replicas": 0}))).await;
    let message = "Ship.harbour.example \"raft\" is invalid: spec.replicas: Invalid value: 0: a ship needs a mast";
    assert_eq!((code, status["message"].as_str()), (422, Some(message)));
    let (code, status) =
        server.send("POST", &format!("{SHIPS}?fieldValidation=Strict"), "", ship("x", json!({"oar": 1}))).await;
    assert_eq!(code, 400, "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_listed_as_a_table_and_in_discovery() {
    let server = Server::start().await;
    server.send("POST", SHIPS, "", ship("argo", json!({"sails": "square"}))).await;
    let (code, table) = server.send("GET", SHIPS, "application/json;as=Table;v=v1;g=meta.k8s.io", Value::Null).await;
    let columns: Vec<_> = table["columnDefinitions"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!((code, json!(columns)), (200, json!(["Name", "Masts", "Sails"])));
    assert_eq!(table["rows"][0]["cells"], json!(["argo", 2, "square"]));
    let (_, resources) = server.send("GET", "/apis/harbour.example/v1", "", Value::Null).await;
    let names: Vec<_> = resources["resources"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["ships", "ships/scale"]);
}
