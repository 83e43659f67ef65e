use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use coracle_journal::{Detail, Stage};
use coracle_meta::{Status, go_quote};
use serde_json::Value;

use super::{Callee, Caller, ClientConfig, ExtensionRequest, OutgoingResponse, ServiceAddress, Trust};
use crate::{Registry, Request};

/// One POST of JSON to a webhook.
#[derive(Clone, Debug)]
pub struct OutgoingCall {
    /// The callee.
    pub to: Arc<Callee>,
    /// How the callee's certificate is verified.
    pub trust: Trust,
    /// The credentials of the call; `None` for a call without credentials.
    pub caller: Option<Arc<Caller>>,
    /// The body of the request.
    pub body: Bytes,
    /// The timeout of the whole call.
    pub timeout: Duration,
}

impl OutgoingCall {
    /// A call without credentials to the address in a webhook configuration.
    pub fn to(config: ClientConfig, body: Bytes, timeout: Duration) -> Self {
        let ClientConfig { to, authorities } = config;
        Self { to, trust: Trust::Authorities(authorities), caller: None, body, timeout }
    }
}

/// Why a call returned no document, in client-go's words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// There was no response in time.
    #[error("{0}")]
    NoAnswer(String),
    /// The response was an error, or not a document.
    #[error("{}", .0.message)]
    Failure(Box<Status>),
}

impl CallError {
    /// The same error without a secret.
    fn without(self, secret: &str) -> Self {
        let veiled = |text: &str| text.replace(secret, "***");
        match self {
            _ if secret.is_empty() => self,
            Self::NoAnswer(why) => Self::NoAnswer(veiled(&why)),
            Self::Failure(mut status) => {
                status.message = veiled(&status.message);
                let causes = status.details.iter_mut().flat_map(|details| details.causes.iter_mut());
                causes.for_each(|cause| cause.message = veiled(&cause.message));
                Self::Failure(status)
            }
        }
    }
}

/// The client for the API server's own calls. In Kubernetes: `webhook.ClientManager` with its service resolver.
#[async_trait]
pub trait Outgoing: Send + Sync + 'static {
    /// Sends the call and reads the whole response. The caller drops the future after the timeout.
    ///
    /// # Errors
    /// Why there is no response, in the words of Go's HTTP client after the URL.
    async fn post(&self, registry: &Registry, call: &OutgoingCall) -> Result<OutgoingResponse, String>;

    /// Requests a document from an extension API server and reads the whole response. The caller drops the future after
    /// the timeout.
    ///
    /// # Errors
    /// Why there is no response, in the words of Go's HTTP client.
    async fn get(&self, registry: &Registry, question: &ExtensionRequest) -> Result<OutgoingResponse, String>;

    /// Probes the health of a component on this machine, without verification of its certificate. The caller drops the
    /// future after the timeout.
    ///
    /// # Errors
    /// Why there is no response, in the words of Go's HTTP client after the URL.
    async fn probe(&self, origin: &str, path: &str) -> Result<OutgoingResponse, String>;

    /// Whether the configuration names a program that serves a Service, independently of the Service's endpoints.
    fn is_named(&self, service: &ServiceAddress) -> bool;
}

/// The actor in the event log.
const ACTOR: &str = "apiserver";

impl Registry {
    /// Calls a webhook for a request, within the timeout of the call.
    ///
    /// # Errors
    /// Why there is no document.
    pub async fn call(&self, request: &Request, call: &OutgoingCall) -> Result<Value, CallError> {
        let note = |detail: Detail| detail.caused_by(request.cause).with("audit", request.audit_id.as_str());
        self.noted_call(call, "", note).await
    }

    /// Calls a webhook for the API server itself, within the timeout of the call. The error does not contain `secret`,
    /// even if the response does.
    ///
    /// # Errors
    /// Why there is no document.
    pub async fn call_for_itself(&self, call: &OutgoingCall, secret: &str) -> Result<Value, CallError> {
        self.noted_call(call, secret, |detail| detail).await
    }

    async fn noted_call(
        &self,
        call: &OutgoingCall,
        secret: &str,
        note: impl FnOnce(Detail) -> Detail,
    ) -> Result<Value, CallError> {
        let url = call.to.url();
        let entry = self.recorder().record(ACTOR, Stage::WebhookCall, || note(Detail::about(url.as_str())));
        let answer = self.document(&url, call).await.map_err(|why| why.without(secret));
        self.recorder().record(ACTOR, Stage::WebhookAnswer, || {
            let why = answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
            Detail::about(url.as_str()).caused_by(entry).with("error", why)
        });
        answer
    }

    /// Requests a document from an extension API server, within the timeout of the question.
    ///
    /// # Errors
    /// Why there is no response.
    pub async fn ask(&self, question: &ExtensionRequest) -> Result<OutgoingResponse, String> {
        let url = question.url();
        let entry = self.recorder().record(ACTOR, Stage::WebhookCall, || Detail::about(url.as_str()));
        let answer = self.answer_to(&url, question).await;
        self.recorder().record(ACTOR, Stage::WebhookAnswer, || {
            let why = answer.as_ref().err().cloned().unwrap_or_default();
            Detail::about(url.as_str()).caused_by(entry).with("error", why)
        });
        answer
    }

    async fn answer_to(&self, url: &str, question: &ExtensionRequest) -> Result<OutgoingResponse, String> {
        let no_answer = |why: &str| format!("Get {}: {why}", go_quote(url));
        let Some(outgoing) = self.outgoing() else { return Err(no_answer("webhook calls are disabled")) };
        let answer = tokio::time::timeout(question.timeout, outgoing.get(self, question)).await;
        let late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        answer.map_err(|_| no_answer(late))?.map_err(|why| no_answer(&why))
    }

    /// Whether the configuration names a program that serves a Service, independently of the Service's endpoints.
    pub fn is_named(&self, service: &ServiceAddress) -> bool {
        self.outgoing().is_some_and(|outgoing| outgoing.is_named(service))
    }

    async fn document(&self, url: &str, call: &OutgoingCall) -> Result<Value, CallError> {
        let timed = format!("{url}?timeout={}s", call.timeout.as_secs_f64().ceil());
        let no_answer = |why: &str| CallError::NoAnswer(format!("Post {}: {why}", go_quote(&timed)));
        let Some(outgoing) = self.outgoing() else {
            return Err(no_answer("webhook calls are disabled"));
        };
        let answer = tokio::time::timeout(call.timeout, outgoing.post(self, call)).await;
        let answer = answer.map_err(|_| no_answer("context deadline exceeded"))?.map_err(|why| no_answer(&why))?;
        answer.into_json().map_err(|status| CallError::Failure(Box::new(status)))
    }
}
