use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use coracle_ambient::{Clock, Timestamp};
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tower::Service;

use crate::{Api, Body, BoxError, Client, Error, Https, ResponseBody};

/// The requested lifetime of a token. In Kubernetes: `NewDynamicClientBuilder`.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How long before its expiry a token is renewed.
const LEEWAY: Duration = Duration::from_secs(720);

/// Sends requests as a service account, with tokens that another client requests: a tower service for
/// [`Client::new`].
///
/// ```text
/// request --> token (requested once an hour; a missing account is created) --> Https without credentials
/// ```
/// In Kubernetes: `clientbuilder.DynamicControllerClientBuilder`.
#[derive(Clone, Debug)]
pub struct AsServiceAccount {
    https: Https,
    tokens: Arc<Tokens>,
}

#[derive(Debug)]
struct Tokens {
    accounts: Api<Object>,
    account: ObjectKey,
    clock: Clock,
    /// The last token, and until when it is used.
    last: Mutex<Option<(HeaderValue, Timestamp)>>,
}

impl AsServiceAccount {
    /// The service account with this key, over `https`, which has no credentials; `asker` requests the tokens.
    pub fn new(https: Https, asker: &Client, account: ObjectKey, clock: Clock) -> Self {
        let accounts = Api::dynamic(asker, GroupVersionResource::new("", "v1", "serviceaccounts"));
        Self { https, tokens: Arc::new(Tokens { accounts, account, clock, last: Mutex::default() }) }
    }
}

impl Tokens {
    async fn token(&self) -> Result<HeaderValue, BoxError> {
        let mut last = self.last.lock().await;
        let now = self.clock.now();
        if let Some((token, until)) = last.as_ref()
            && now < *until
        {
            return Ok(token.clone());
        }
        let answer = match self.ask().await {
            Err(error) if error.is_not_found() => {
                self.make_account().await?;
                self.ask().await?
            }
            answer => answer?,
        };
        let text = answer.pointer("/status/token").and_then(Value::as_str).ok_or("the answer has no token")?;
        let mut token = HeaderValue::from_str(&format!("Bearer {text}"))?;
        token.set_sensitive(true);
        let until = now + (LIFETIME - LEEWAY);
        Ok(last.insert((token, until)).0.clone())
    }

    async fn ask(&self) -> Result<Value, Error> {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME.as_secs()},
        });
        self.accounts.create_subresource(&self.account, "token", &request).await
    }

    async fn make_account(&self) -> Result<(), Error> {
        let mut account = Object::default();
        account.set("metadata", json!({"namespace": self.account.namespace, "name": self.account.name}));
        match self.accounts.create(&account).await {
            Err(error) if !error.is_already_exists() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Service<Request<Body>> for AsServiceAccount {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (mut https, tokens) = (self.https.clone(), Arc::clone(&self.tokens));
        Box::pin(async move {
            request.headers_mut().insert(AUTHORIZATION, tokens.token().await?);
            https.call(request).await
        })
    }
}
