use std::time::Duration;

use bytes::Bytes;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, Object, Status, go_quote};
use serde_json::{Value, json};

use super::metadata;
use crate::check_review_kind;
use crate::{ClientConfig, OutgoingCall, Registry, Request};

const GROUP: &str = "apiextensions.k8s.io";
/// The timeout of a conversion. In Kubernetes: the remaining time of the request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The conversion webhook of a definition, from `spec.conversion`.
#[derive(Debug)]
pub struct ConversionWebhook {
    config: Result<ClientConfig, &'static str>,
    /// The version of `ConversionReview` that both sides support.
    review_version: Option<&'static str>,
}

impl ConversionWebhook {
    /// Reads `spec.conversion`; `None` if a conversion only changes `apiVersion`.
    pub(crate) fn read(conversion: &Value) -> Option<Self> {
        if conversion.text("strategy") != "Webhook" {
            return None;
        }
        let webhook = conversion.at("webhook");
        let mut wanted = webhook.list("conversionReviewVersions").iter().filter_map(Value::as_str);
        Some(Self {
            config: ClientConfig::read(webhook.at("clientConfig")),
            review_version: wanted.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version)),
        })
    }

    /// Converts all these objects in one call: all, or none.
    pub(super) async fn convert(
        &self,
        registry: &Registry,
        request: &Request,
        objects: &[Object],
        api_version: &str,
    ) -> Result<Vec<Object>, Status> {
        let Some(first) = objects.first() else { return Ok(Vec::new()) };
        let from = format!("{}, Kind={}", first.api_version(), first.text("kind"));
        let failed = |why: &str| Status::internal(format!("conversion webhook for {from} {why}"));
        let Some(version) = self.review_version else {
            return Err(Status::internal("no supported conversion review versions"));
        };
        let config = self.config.clone().map_err(|why| failed(&format!("failed: {why}")))?;
        let uid = request.random(registry.ambient(), "conversion review", first.name()).uuid();
        let review = json!({
            "kind": "ConversionReview", "apiVersion": format!("{GROUP}/{version}"),
            "request": {
                "uid": uid, "desiredAPIVersion": api_version,
                "objects": objects.iter().map(Object::to_value).collect::<Vec<_>>(),
            }
        });
        let body = Bytes::from(review.to_string());
        let call = OutgoingCall::to(config, body, TIMEOUT);
        let answer = registry.call(request, &call).await.map_err(|why| failed(&format!("failed: {why}")))?;
        let converted = read(version, &uid, answer).map_err(|why| failed(&format!("failed: {why}")))?;
        if converted.len() != objects.len() {
            return Err(failed(&format!("returned {} objects, expected {}", converted.len(), objects.len())));
        }
        let index_of = |index: usize| (objects.len() > 1).then_some(index);
        let checked = objects.iter().zip(converted).enumerate().map(|(index, (original, converted))| {
            check(original, converted, api_version).map_err(|misfit| failed(&misfit.text(index_of(index))))
        });
        checked.collect()
    }
}

/// The objects of a response. In Kubernetes: `getConvertedObjectsFromResponse`.
fn read(version: &str, uid: &str, mut answer: Value) -> Result<Vec<Value>, String> {
    check_review_kind(&answer, "ConversionReview", &GroupVersion::new(GROUP, version), &["v1", "v1beta1"])?;
    let (got, kind) = (answer.text("apiVersion"), answer.text("kind"));
    // v1beta1 requires neither the uid nor the kind.
    let is_strict = version == "v1";
    if is_strict && (got, kind) != ("apiextensions.k8s.io/v1", "ConversionReview") {
        let slash = if got.contains('/') { "" } else { "/" };
        return Err(format!(
            "expected webhook response of {GROUP}/v1, Kind=ConversionReview, got {slash}{got}, Kind={kind}"
        ));
    }
    let response = answer.at("response");
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    if is_strict && response.text("uid") != uid {
        return Err(format!("expected response.uid={}, got {}", go_quote(uid), go_quote(response.text("uid"))));
    }
    match (response.text("result.status"), response.text("result.message")) {
        ("Success", _) => {}
        (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => return Err(message.to_owned()),
    }
    match answer["response"]["convertedObjects"].take() {
        Value::Array(objects) => Ok(objects),
        _ => Ok(Vec::new()),
    }
}

/// Why a converted object is refused.
#[derive(Debug, PartialEq)]
enum Misfit {
    /// It has another version or kind.
    Kind(String),
    /// It is another object.
    Object(String),
    /// Its metadata is invalid.
    Metadata(String),
}

impl Misfit {
    /// The message for the object at an index of a list, or for a single object. In Kubernetes:
    /// `webhookConverter.Convert`.
    fn text(&self, index: Option<usize>) -> String {
        match (self, index) {
            (Self::Kind(why) | Self::Object(why), Some(index)) => {
                format!("returned invalid converted object at index {index}: {why}")
            }
            (Self::Metadata(why), Some(index)) => {
                format!("returned invalid metadata in object at index {index}: {why}")
            }
            (Self::Kind(why), None) => format!("returned invalid object at index 0: {why}"),
            (Self::Object(why), None) => format!("returned invalid object: {why}"),
            (Self::Metadata(why), None) => format!("returned invalid metadata: {why}"),
        }
    }
}

/// A converted object, if it is the same object: it keeps its metadata, except labels and annotations.
/// In Kubernetes: `validateConvertedObject` and `restoreObjectMeta`.
fn check(original: &Object, converted: Value, api_version: &str) -> Result<Object, Misfit> {
    let mut converted = Object::from_value(converted).map_err(|error| Misfit::Kind(error.to_string()))?;
    for (what, expected, got) in [
        ("groupVersion", api_version, converted.api_version()),
        ("kind", original.text("kind"), converted.text("kind")),
    ] {
        if expected != got {
            return Err(Misfit::Kind(format!("invalid {what} (expected {expected}, received {got})")));
        }
    }
    for (what, field) in [("name", "metadata.name"), ("namespace", "metadata.namespace"), ("UID", "metadata.uid")] {
        let (before, after) = (original.text(field), converted.text(field));
        if before != after {
            return Err(Misfit::Object(format!("must have the same {what}: {before} != {after}")));
        }
    }
    metadata::restore(original, &mut converted).map_err(Misfit::Metadata)?;
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: &str) -> Value {
        json!({"apiVersion": format!("a.b/{version}"), "kind": "K", "spec": {"n": 1},
            "metadata": {"name": "x", "uid": "u", "labels": {"l": version}, "generation": 3}})
    }

    #[test]
    fn a_converted_object_keeps_its_metadata_but_for_labels_and_annotations() {
        let original = Object::from_value(object("v1")).unwrap();
        let mut answered = object("v2");
        answered["metadata"]["generation"] = 9.into();
        let converted = check(&original, answered, "a.b/v2").unwrap();
        assert_eq!(converted.text("metadata.labels.l"), "v2");
        assert_eq!(converted.number("metadata.generation"), Some(3));
    }

    #[test]
    fn another_object_is_no_conversion() {
        let original = Object::from_value(object("v1")).unwrap();
        let mut other = object("v2");
        other["metadata"]["uid"] = "other".into();
        let wrong = check(&original, other, "a.b/v2").unwrap_err();
        assert_eq!(wrong.text(None), "returned invalid object: must have the same UID: u != other");
        let wrong = check(&original, object("v3"), "a.b/v2").unwrap_err();
        let expected = "invalid groupVersion (expected a.b/v2, received a.b/v3)";
        assert_eq!(wrong.text(None), format!("returned invalid object at index 0: {expected}"));
        assert_eq!(wrong.text(Some(3)), format!("returned invalid converted object at index 3: {expected}"));
        let mut other = object("v2");
        other["kind"] = "L".into();
        let wrong = check(&original, other, "a.b/v2").unwrap_err();
        assert_eq!(wrong.text(None), "returned invalid object at index 0: invalid kind (expected K, received L)");
        let mut bare = object("v2");
        bare["metadata"]["labels"] = "text".into();
        assert!(check(&original, bare, "a.b/v2").is_err());
    }

    #[test]
    fn a_failure_has_the_webhooks_message() {
        let answer = |response: Value| json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response});
        let failed = answer(json!({"uid": "u", "result": {"status": "Failed", "message": "no way"}}));
        assert_eq!(read("v1", "u", failed), Err("no way".to_owned()));
        let silent = answer(json!({"uid": "u", "result": {}}));
        assert_eq!(read("v1", "u", silent), Err("response.result.status was '', not 'Success'".to_owned()));
        let unnamed = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=";
        assert_eq!(read("v1", "u", json!({})), Err(unnamed.to_owned()));
        let other = read("v1beta1", "u", answer(json!({})));
        let why = "converting (v1.ConversionReview) to (v1beta1.ConversionReview): unknown conversion";
        assert_eq!(other, Err(why.to_owned()));
        assert_eq!(read("v1beta1", "u", json!({"response": {"result": {"status": "Success"}}})), Ok(Vec::new()));
    }
}
