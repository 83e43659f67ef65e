//! What a kube-apiserver 1.35.3 answered to pods, templates, services and their likes that are wrong, or worth a
//! warning, is answered here, too.
//!
//! `answers.jsonl` has a line for each request to create an object: its path and body, and the code, the message and the
//! warnings of the answer. The server that gave them ran without `ServiceAccount`; answers of other plug-ins are left
//! out.

use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServer, Body, Limits, NoNodes, Shutdown, router};
use coracle_journal::Recorder;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use coracle_resources::{AuthenticationTrust, Cidr, Config, ServerControllers, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
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

type Server = BoxCloneService<http::Request<Body>, http::Response<Body>, Infallible>;

fn server() -> Server {
    let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
    let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(ambient.split("store"), recorder.clone()))));
    tokio::spawn(storage.run());
    let config = Config { service_cluster_ip_ranges: vec![Cidr::parse("10.0.0.0/16").unwrap()], ..Config::default() };
    let registry = Registry::builder(storage, ambient, recorder).kinds(kinds(&config)).build();
    let flows = ServerControllers::new(&registry, AuthenticationTrust::default()).flows();
    BoxCloneService::new(router(ApiServer {
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

/// The code, the message and the warnings of an answer.
async fn answer(server: &Server, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let answer = server.clone().oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let warnings: Vec<String> = answer.headers().get_all("warning").iter().map(warning).collect();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = if code < 300 { Value::Null } else { document["message"].clone() };
    json!({"code": code, "message": message, "warnings": warnings})
}

/// The quoted part of a warning: `299 - "text"`.
fn warning(value: &http::HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    text.splitn(3, ' ').nth(2).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_said_as_kube_apiserver_says_it() {
    let server = server();
    let namespace = json!({"metadata": {"name": "default"}});
    assert_eq!(answer(&server, "/api/v1/namespaces", &namespace).await["code"], 201);
    let mut different = Vec::new();
    let rows: Vec<Value> =
        include_str!("answers.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let own = answer(&server, row["path"].as_str().unwrap(), &row["body"]).await;
        if ["code", "message", "warnings"].iter().any(|field| own[field] != row[field]) {
            different.push(format!("{}\nkube-apiserver {}\nhere           {own}", row["body"], row["message"]));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), rows.len(), different.join("\n\n"));
    assert!(rows.len() > 500, "{}", rows.len());
}
