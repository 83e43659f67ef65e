use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use coracle_journal::{Detail, Stage};
use coracle_meta::{Status, go_quote};
use serde_json::Value;

use super::{Answer, Callee, Caller, ClientConfig, Question, ServiceAddress, Trust};
use crate::{Registry, Request};

/// One POST of JSON to somebody else.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who is called.
    pub to: Arc<Callee>,
    /// Whose certificate is believed.
    pub trust: Trust,
    /// As whom it is called; without one as nobody.
    pub caller: Option<Arc<Caller>>,
    /// The document that is sent.
    pub body: Bytes,
    /// How long the whole call may take.
    pub timeout: Duration,
}

impl Call {
    /// A call as nobody, to whom a webhook's owner has named.
    pub fn to(config: ClientConfig, body: Bytes, timeout: Duration) -> Self {
        let ClientConfig { to, authorities } = config;
        Self { to, trust: Trust::Authorities(authorities), caller: None, body, timeout }
    }
}

/// Why a call gave no document. Shown in client-go's words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Nobody answered, or not in time.
    #[error("{0}")]
    NoAnswer(String),
    /// The answer was a failure, or no document.
    #[error("{}", .0.message)]
    Failure(Box<Status>),
}

impl CallError {
    /// The same without a secret.
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

/// The way out of the server. In Kubernetes: `webhook.ClientManager` with its service resolver.
#[async_trait]
pub trait Outgoing: Send + Sync + 'static {
    /// Sends the call and reads the whole answer. Dropped when its time is over.
    ///
    /// # Errors
    /// Why there is no answer, as Go's HTTP client says it after the URL.
    async fn post(&self, registry: &Registry, call: &Call) -> Result<Answer, String>;

    /// Asks an extension API server for a document and reads the whole answer. Dropped when its time is over.
    ///
    /// # Errors
    /// Why there is no answer, as Go's HTTP client says it.
    async fn get(&self, registry: &Registry, question: &Question) -> Result<Answer, String>;

    /// Asks a component on this machine how it is, with any certificate that it shows. Dropped when its time is over.
    ///
    /// # Errors
    /// Why there is no answer, as Go's HTTP client says it after the URL.
    async fn probe(&self, origin: &str, path: &str) -> Result<Answer, String>;

    /// Whether somebody was named who answers for a Service, wherever its endpoints are.
    fn is_named(&self, service: &ServiceAddress) -> bool;
}

/// The caller in the event log.
const ACTOR: &str = "apiserver";

impl Registry {
    /// Calls somebody on behalf of a request, within the call's time.
    ///
    /// # Errors
    /// Why there is no document.
    pub async fn call(&self, request: &Request, call: &Call) -> Result<Value, CallError> {
        let note = |detail: Detail| detail.caused_by(request.cause).with("audit", request.audit_id.as_str());
        self.noted_call(call, "", note).await
    }

    /// Calls somebody on the server's own behalf, within the call's time. What says why there is no document does not say
    /// `secret`, even if the callee does.
    ///
    /// # Errors
    /// Why there is no document.
    pub async fn call_for_itself(&self, call: &Call, secret: &str) -> Result<Value, CallError> {
        self.noted_call(call, secret, |detail| detail).await
    }

    async fn noted_call(
        &self,
        call: &Call,
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

    /// Asks an extension API server for a document, within the question's time.
    ///
    /// # Errors
    /// Why nobody answered.
    pub async fn ask(&self, question: &Question) -> Result<Answer, String> {
        let url = question.url();
        let entry = self.recorder().record(ACTOR, Stage::WebhookCall, || Detail::about(url.as_str()));
        let answer = self.answer_to(&url, question).await;
        self.recorder().record(ACTOR, Stage::WebhookAnswer, || {
            let why = answer.as_ref().err().cloned().unwrap_or_default();
            Detail::about(url.as_str()).caused_by(entry).with("error", why)
        });
        answer
    }

    async fn answer_to(&self, url: &str, question: &Question) -> Result<Answer, String> {
        let no_answer = |why: &str| format!("Get {}: {why}", go_quote(url));
        let Some(outgoing) = self.outgoing() else { return Err(no_answer("webhook calls are disabled")) };
        let answer = tokio::time::timeout(question.timeout, outgoing.get(self, question)).await;
        let late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        answer.map_err(|_| no_answer(late))?.map_err(|why| no_answer(&why))
    }

    /// Whether somebody was named who answers for a Service, wherever its endpoints are.
    pub fn is_named(&self, service: &ServiceAddress) -> bool {
        self.outgoing().is_some_and(|outgoing| outgoing.is_named(service))
    }

    async fn document(&self, url: &str, call: &Call) -> Result<Value, CallError> {
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
