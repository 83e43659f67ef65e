use std::sync::Arc;

use bytes::Bytes;
use coracle_cluster::{Transport, User, boxed};
use coracle_control::ControlledCluster;
use coracle_meta::percent;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::embedded_cluster::{EmbeddedCluster, EmbeddedOptions};
use super::episode::Episode;
use super::tool_answer::Refusal;

/// The name of this client in the API: its user agent, and the owner of the fields that it applies.
pub(super) const CLIENT: &str = "coracle-mcp";
const JSON: &str = "application/json";

/// The cluster of a client, and the exercise in it.
pub(super) struct Session {
    cluster: EmbeddedCluster,
    api: Transport,
    pub(super) episode: Option<Episode>,
}

/// A request to the API of the cluster, or to its control endpoint.
pub(super) struct Ask<'a> {
    method: Method,
    path: String,
    accept: &'a str,
    body: (&'a str, Bytes),
}

impl<'a> Ask<'a> {
    /// A request without a body, for JSON.
    pub(super) fn of(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), accept: JSON, body: (JSON, Bytes::new()) }
    }

    /// The same request for another format.
    pub(super) fn accepting(self, accept: &'a str) -> Self {
        Self { accept, ..self }
    }

    /// The same request with a body in JSON.
    pub(super) fn json(self, body: &Value) -> Self {
        self.body(JSON, body)
    }

    /// The same request with a body in JSON, whose media type says what it means.
    pub(super) fn body(self, media_type: &'a str, body: &Value) -> Self {
        Self { body: (media_type, Bytes::from(body.to_string())), ..self }
    }

    /// The same request with a parameter, unless it is empty.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            let mark = if self.path.contains('?') { '&' } else { '?' };
            self.path = format!("{}{mark}{name}={}", self.path, percent::component(value));
        }
        self
    }
}

impl Session {
    /// Starts a cluster.
    pub(super) async fn start(options: EmbeddedOptions) -> Result<Self, Refusal> {
        let cluster = EmbeddedCluster::start(options).await?;
        let admin = User::new("kubernetes-admin", ["system:masters"]);
        let api = coracle_control::transport(&cluster.controlled).asking_as(Arc::new(admin));
        Ok(Self { cluster, api, episode: None })
    }

    /// The cluster, for what has no path.
    pub(super) fn controlled(&self) -> &ControlledCluster {
        &self.cluster.controlled
    }

    /// What a client learns about a cluster that has started.
    pub(super) async fn described(&self) -> Result<Value, Refusal> {
        let mut described = self.ask(Ask::of(Method::GET, coracle_control::PREFIX)).await?;
        described["now"] = self.controlled().now().await?.to_string().into();
        if let Some(kubeconfig) = &self.cluster.kubeconfig {
            described["kubeconfig"] = kubeconfig.display().to_string().into();
        }
        Ok(described)
    }

    /// The answer to a request, in JSON.
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Result<Value, Refusal> {
        Ok(self.ask_with_code(ask).await?.1)
    }

    /// The answer to a request, in JSON, and its code.
    pub(super) async fn ask_with_code(&self, ask: Ask<'_>) -> Result<(StatusCode, Value), Refusal> {
        let path = ask.path.clone();
        let (code, body) = self.send(ask).await?;
        let answer = serde_json::from_slice(&body);
        Ok((code, answer.map_err(|error| Refusal::new(format!("the answer to {path}: {error}")))?))
    }

    /// The answer to a request, as text.
    pub(super) async fn text(&self, ask: Ask<'_>) -> Result<String, Refusal> {
        Ok(String::from_utf8_lossy(&self.send(ask).await?.1).into_owned())
    }

    async fn send(&self, ask: Ask<'_>) -> Result<(StatusCode, Bytes), Refusal> {
        let Ask { method, path, accept, body: (media_type, body) } = ask;
        let failed = |error: &dyn std::fmt::Display| Refusal::new(format!("{path}: {error}"));
        let is_read = method == Method::GET;
        let request = Request::builder().method(method).uri(&path);
        let request = request.header(ACCEPT, accept).header(CONTENT_TYPE, media_type).header(USER_AGENT, CLIENT);
        let request = request.body(boxed(Full::new(body))).map_err(|error| failed(&error))?;
        let response = self.api.send(request).await.map_err(|error| failed(&error))?;
        let code = response.status();
        let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        if !is_read {
            // The next request finds what the controllers have done by then, however fast the client is.
            self.controlled().quiet().await?;
        }
        if code.is_success() {
            return Ok((code, body));
        }
        let status: Option<Value> = serde_json::from_slice(&body).ok();
        let message = status.as_ref().and_then(|status| status["message"].as_str()).map(str::to_owned);
        let message = message.unwrap_or_else(|| format!("{code}: {}", String::from_utf8_lossy(&body)));
        Err(Refusal { message, status })
    }

    /// Stops the cluster.
    pub(super) async fn end(self) {
        let Self { cluster, api, episode } = self;
        drop((api, episode));
        cluster.end().await;
    }
}

/// The cluster that runs.
pub(super) fn running(session: &mut Option<Session>) -> Result<&mut Session, Refusal> {
    let none = "no cluster runs: call start_cluster, or start_exercise for a broken one";
    session.as_mut().ok_or_else(|| Refusal::new(none))
}

/// Refuses a second cluster.
pub(super) fn none_runs(session: &Option<Session>) -> Result<(), Refusal> {
    match session {
        Some(_) => Err(Refusal::new("a cluster runs already: call reset to start it again, or stop_cluster first")),
        None => Ok(()),
    }
}
