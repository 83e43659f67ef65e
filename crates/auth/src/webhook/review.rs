use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_meta::reason;
use coracle_registry::{CallError, Callee, Caller, OutgoingCall, Registry, Trust};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The timeout of one call. In Kubernetes: `defaultRequestTimeout` of `pkg/util/webhook`.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of attempts after retryable errors. In Kubernetes: `DefaultAuthWebhookRetryBackoff`.
const TRIES: usize = 5;
/// The delay before the second attempt; each further delay is 1.5 times as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The maximum random extension of a delay, as a fraction, so that not all clients retry at once.
const JITTER: f64 = 0.2;

/// A webhook for token reviews or access reviews, from its kubeconfig file. In Kubernetes: `webhook.GenericWebhook`.
#[derive(Clone, Debug)]
pub struct ReviewWebhook {
    /// Its address.
    pub to: Arc<Callee>,
    /// How its certificate is verified.
    pub trust: Trust,
    /// The credentials for calls.
    pub caller: Arc<Caller>,
    /// The version of the sent and expected reviews.
    pub version: ReviewVersion,
}

/// The version of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `v1`
    V1,
    /// `v1beta1`, the default.
    #[default]
    V1beta1,
}

/// An unsupported version of reviews.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {0:?}, supported versions are \"v1\", \"v1beta1\"")]
pub struct UnknownReviewVersion(String);

impl FromStr for ReviewVersion {
    type Err = UnknownReviewVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "v1" => Ok(Self::V1),
            "v1beta1" => Ok(Self::V1beta1),
            other => Err(UnknownReviewVersion(other.to_owned())),
        }
    }
}

impl ReviewVersion {
    fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}

/// A review that a webhook completes.
pub(super) struct ReviewRequest<'a> {
    /// The API group of the review.
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) spec: Value,
    /// The status before the webhook decides.
    pub(super) status: Value,
}

impl ReviewWebhook {
    /// Calls the webhook, with retries after retryable errors, and returns the status of the review. The error does not
    /// contain `secret`.
    ///
    /// # Errors
    /// Why there is no status.
    pub(super) async fn review<T: DeserializeOwned + Default>(
        &self,
        registry: &Registry,
        request: ReviewRequest<'_>,
        secret: &str,
    ) -> Result<T, String> {
        let ReviewRequest { group, kind, spec, status: empty } = request;
        let version = self.version.name();
        let api_version = format!("{group}/{version}");
        let review = json!({"kind": kind, "apiVersion": api_version, "metadata": {}, "spec": spec, "status": empty});
        let call = OutgoingCall {
            to: Arc::clone(&self.to),
            trust: self.trust.clone(),
            caller: Some(Arc::clone(&self.caller)),
            body: Bytes::from(review.to_string()),
            timeout: TIMEOUT,
        };
        let answer = answer(registry, &call, kind, secret).await.map_err(|why| why.to_string())?;
        status(answer, &api_version, kind)
    }
}

/// In Kubernetes: `webhook.WithExponentialBackoff`.
/// Unlike Kubernetes: a `Retry-After` in a response is ignored; the usual delay applies.
async fn answer(registry: &Registry, call: &OutgoingCall, kind: &str, secret: &str) -> Result<Value, CallError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match registry.call_for_itself(call, secret).await {
            Err(why) if may_pass(&why) => {
                let random = registry.ambient().random.keyed(&["retry", kind]);
                tokio::time::sleep(pause.mul_f64(1.0 + JITTER * random.fraction())).await;
                pause = pause.mul_f64(1.5);
            }
            answer => return answer,
        }
    }
    registry.call_for_itself(call, secret).await
}

/// Whether the error is retryable. In Kubernetes: `DefaultShouldRetry`.
fn may_pass(why: &CallError) -> bool {
    match why {
        CallError::NoAnswer(why) => {
            ["connection reset by peer", "http2: client connection lost"].iter().any(|lost| why.ends_with(lost))
        }
        CallError::Failure(status) => {
            let passing = [reason::INTERNAL_ERROR, reason::TIMEOUT, reason::TOO_MANY_REQUESTS];
            passing.contains(&status.reason.as_str())
                || status.code == 429
                || status.details.as_ref().is_some_and(|details| details.retry_after_seconds > 0)
        }
    }
}

/// The status of a review. A response without `apiVersion` and `kind` counts as the requested review.
fn status<T: DeserializeOwned + Default>(mut answer: Value, api_version: &str, kind: &str) -> Result<T, String> {
    let short = |api_version: &str| api_version.rsplit('/').next().unwrap_or_default().to_owned();
    if !answer.is_object() {
        return Err("couldn't get version/kind; json parse error: the answer is no object".to_owned());
    }
    let said = |field: &str, default: &str| match &answer[field] {
        Value::Null => default.to_owned(),
        Value::String(text) if text.is_empty() => default.to_owned(),
        other => other.as_str().unwrap_or("?").to_owned(),
    };
    let (its_version, its_kind) = (said("apiVersion", api_version), said("kind", kind));
    if (its_version.as_str(), its_kind.as_str()) != (api_version, kind) {
        let (its_version, version) = (short(&its_version), short(api_version));
        return Err(format!("converting ({its_version}.{its_kind}) to ({version}.{kind}): unknown conversion"));
    }
    match answer["status"].take() {
        Value::Null => Ok(T::default()),
        status => serde_json::from_value(status).map_err(|error| format!("json: cannot read the status: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::Status;

    use super::*;

    #[test]
    fn a_response_of_another_kind_or_version_is_refused() {
        let read = |answer: Value| status::<Value>(answer, "authentication.k8s.io/v1", "TokenReview");
        assert_eq!(read(json!({"status": {"a": 1}})), Ok(json!({"a": 1})));
        assert_eq!(read(json!({"kind": "TokenReview"})), Ok(Value::Null));
        let other = json!({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1beta1", "status": {}});
        assert_eq!(
            read(other),
            Err("converting (v1beta1.TokenReview) to (v1.TokenReview): unknown conversion".to_owned())
        );
        assert!(read(json!({"kind": "Pod", "apiVersion": "v1"})).unwrap_err().starts_with("converting (v1.Pod)"));
        assert!(read(json!({"kind": 7, "status": {"a": 1}})).is_err());
        assert!(read(json!([1])).is_err());
    }

    #[test]
    fn only_retryable_errors_are_retried() {
        let failure = |code, reason: &str| CallError::Failure(Box::new(Status::failure(code, reason, "")));
        for passing in [
            failure(500, "InternalError"),
            failure(504, "Timeout"),
            failure(429, "TooManyRequests"),
            CallError::NoAnswer("Post \"u\": read: connection reset by peer".to_owned()),
        ] {
            assert!(may_pass(&passing), "{passing:?}");
        }
        for lasting in [
            failure(401, "Unauthorized"),
            failure(503, "ServiceUnavailable"),
            CallError::NoAnswer("Post \"u\": context deadline exceeded".to_owned()),
        ] {
            assert!(!may_pass(&lasting), "{lasting:?}");
        }
    }
}
