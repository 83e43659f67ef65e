use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_meta::reason;
use coracle_registry::{Call, CallError, Callee, Caller, Registry, Trust};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long one call may take. In Kubernetes: `defaultRequestTimeout` of `pkg/util/webhook`.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a call is tried that may succeed another time. In Kubernetes: `DefaultAuthWebhookRetryBackoff`.
const TRIES: usize = 5;
/// How long it waits before the second try; before each that follows, half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// By how much a pause may be longer, so that not all come back at once.
const JITTER: f64 = 0.2;

/// A program that reviews tokens or accesses: what its kubeconfig file says. In Kubernetes: `webhook.GenericWebhook`.
#[derive(Clone, Debug)]
pub struct ReviewWebhook {
    /// Who is asked.
    pub to: Arc<Callee>,
    /// Whose certificate is believed.
    pub trust: Trust,
    /// As whom it is asked.
    pub caller: Arc<Caller>,
    /// The version of the reviews that are sent and expected.
    pub version: ReviewVersion,
}

/// The version of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `v1`
    V1,
    /// `v1beta1`, which is what is sent without a word.
    #[default]
    V1beta1,
}

/// A version in which there are no reviews.
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

impl ReviewWebhook {
    /// Asks, again where that may help, and reads the status of the review. What is said why there is none does not say
    /// `secret`.
    ///
    /// # Errors
    /// Why there is no status.
    pub(super) async fn review<T: DeserializeOwned + Default>(
        &self,
        registry: &Registry,
        (group, kind): (&str, &str),
        (spec, empty): (Value, Value),
        secret: &str,
    ) -> Result<T, String> {
        let version = self.version.name();
        let api_version = format!("{group}/{version}");
        let review = json!({"kind": kind, "apiVersion": api_version, "metadata": {}, "spec": spec, "status": empty});
        let call = Call {
            to: Arc::clone(&self.to),
            trust: self.trust.clone(),
            caller: Some(Arc::clone(&self.caller)),
            body: Bytes::from(review.to_string()),
            timeout: TIMEOUT,
        };
        let answer = answer(registry, &call, secret).await.map_err(|why| why.to_string())?;
        status(answer, &api_version, kind)
    }
}

/// In Kubernetes: `webhook.WithExponentialBackoff`.
/// Unlike Kubernetes: who says after how many seconds to come back is asked again after the usual pause.
async fn answer(registry: &Registry, call: &Call, secret: &str) -> Result<Value, CallError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        match registry.call_for_itself(call, secret).await {
            Err(why) if may_pass(&why) => {
                tokio::time::sleep(pause.mul_f64(1.0 + JITTER * registry.ambient().random.fraction())).await;
                pause = pause.mul_f64(1.5);
            }
            answer => return answer,
        }
    }
    registry.call_for_itself(call, secret).await
}

/// Whether it may help to ask again. In Kubernetes: `DefaultShouldRetry`.
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

/// The status of a review, where the answer is one: what does not say what it is, is what was asked for.
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

/// A field that may be `null` where it is left out, as Go reads it.
pub(super) fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: serde::Deserialize<'de> + Default,
    D: serde::Deserializer<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use coracle_meta::Status;

    use super::*;

    #[test]
    fn an_answer_of_another_kind_or_version_is_none() {
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
    fn what_may_pass_is_tried_again_and_nothing_else() {
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
