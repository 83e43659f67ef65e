//! `AdmissionReview`: what is sent to a webhook, and what may come back. In Kubernetes: `webhook/request`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::fields::Fields;
use coracle_meta::{Status, go_quote};
use serde_json::{Value, json};

const GROUP: &str = "admission.k8s.io";

/// The document that asks.
pub(super) fn body(version: &str, uid: &str, request: &Value, object: &Value, old: &Value) -> Vec<u8> {
    let mut request = request.clone();
    request["uid"] = uid.into();
    request["object"] = object.clone();
    request["oldObject"] = old.clone();
    json!({"kind": "AdmissionReview", "apiVersion": format!("{GROUP}/{version}"), "request": request})
        .to_string()
        .into_bytes()
}

/// What a webhook answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) is_allowed: bool,
    /// The JSON patch, if there is one.
    pub(super) patch: Option<Vec<u8>>,
    pub(super) warnings: Vec<String>,
    /// What the audit log is to say.
    pub(super) annotations: Vec<(String, String)>,
    result: Value,
}

impl Response {
    /// Reads the answer to the review `uid`.
    ///
    /// # Errors
    /// Why it is none, in Kubernetes' words. In Kubernetes: `VerifyAdmissionResponse`.
    pub(super) fn read(version: &str, uid: &str, mutates: bool, answer: Value) -> Result<Self, String> {
        let response = answer.at("response");
        if !response.is_object() {
            return Err("webhook response was absent".to_owned());
        }
        // The first version of the API asked neither for the uid nor for the kind.
        let is_strict = version == "v1";
        if is_strict && response.text("uid") != uid {
            return Err(format!("expected response.uid={}, got {}", go_quote(uid), go_quote(response.text("uid"))));
        }
        if is_strict {
            check_kind(&answer)?;
        }
        check_types(response)?;
        let patch = Some(bytes(response.at("patch"))?).filter(|patch| !patch.is_empty());
        let warnings = response.list("warnings").iter().filter_map(|text| text.as_str().map(str::to_owned)).collect();
        let read = Self {
            is_allowed: response.at("allowed") == &Value::Bool(true),
            patch,
            warnings,
            annotations: annotations(response.at("auditAnnotations")),
            result: response.at("status").clone(),
        };
        if is_strict {
            check_patch(read.patch.is_some(), response.at("patchType"), mutates)?;
        }
        Ok(if mutates { read } else { Self { patch: None, ..read } })
    }

    /// The answer to a write that the webhook refuses: its own, completed. In Kubernetes: `ToStatusErr`.
    pub(super) fn refusal(&self, webhook: &str) -> Status {
        let mut status: Status =
            serde_json::from_value(self.result.clone()).unwrap_or_else(|_| Status::failure(0, "", ""));
        status.code = status.code.max(400);
        if ["", "Success"].contains(&status.status.as_str()) {
            "Failure".clone_into(&mut status.status);
        }
        let denied = format!("admission webhook {} denied the request", go_quote(webhook));
        status.message = match (status.message.as_str(), status.reason.as_str()) {
            ("", "") => format!("{denied} without explanation"),
            ("", why) | (why, _) => format!("{denied}: {why}"),
        };
        status
    }
}

/// Whether the fields have the types that `AdmissionResponse` gives them; what is absent has its zero value.
fn check_types(response: &Value) -> Result<(), String> {
    let is_list_of_texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    let is_right = |field: &str, value: &Value| match field {
        "allowed" => value.is_boolean(),
        "status" => value.is_object(),
        "warnings" => is_list_of_texts(value),
        "auditAnnotations" => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
        "patch" => value.is_string() || value.is_array(),
        _ => value.is_string(),
    };
    for (field, kind) in [
        ("uid", "types.UID"),
        ("allowed", "bool"),
        ("status", "v1.Status"),
        ("patch", "[]uint8"),
        ("patchType", "v1.PatchType"),
        ("warnings", "[]string"),
        ("auditAnnotations", "map[string]string"),
    ] {
        let value = response.at(field);
        if !value.is_null() && !is_right(field, value) {
            let field = format!("AdmissionReview.response.{field}");
            return Err(format!("json: cannot unmarshal into Go struct field {field} of type {kind}"));
        }
    }
    Ok(())
}

/// Bytes as Go decodes them: a text in base64, or a list of numbers, as which kube-rs writes them. In Go: `encoding/json`.
fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    let byte = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Number(number) => number.to_string().parse().map_err(|_| format!("number {number}")),
        Value::Bool(_) => Err("bool".to_owned()),
        Value::String(_) => Err("string".to_owned()),
        Value::Array(_) => Err("array".to_owned()),
        Value::Object(_) => Err("object".to_owned()),
    };
    let wrong = |what: String| {
        format!("json: cannot unmarshal {what} into Go struct field AdmissionResponse.response.patch of type uint8")
    };
    match value {
        Value::Array(items) => items.iter().map(|item| byte(item).map_err(wrong)).collect(),
        text => {
            let text: String = text.as_str().unwrap_or_default().split(['\r', '\n']).collect();
            STANDARD.decode(text).map_err(|error| error.to_string())
        }
    }
}

fn check_kind(answer: &Value) -> Result<(), String> {
    let (version, kind) = (answer.text("apiVersion"), answer.text("kind"));
    if (version, kind) == ("admission.k8s.io/v1", "AdmissionReview") {
        return Ok(());
    }
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Err(format!("expected webhook response of {GROUP}/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"))
}

fn check_patch(has_patch: bool, patch_type: &Value, mutates: bool) -> Result<(), String> {
    let refused = match (mutates, has_patch, patch_type.as_str()) {
        (true, true, None) => "webhook returned response.patch but not response.patchType",
        (true, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, true, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (true, true, Some("JSONPatch")) | (true, false, None) | (false, false, None) => return Ok(()),
        (true, true, Some(other)) => return Err(format!("unsupported patch type {}", go_quote(other))),
        (false, true, _) => "validating webhook may not return response.patch",
        (false, false, Some(_)) => "validating webhook may not return response.patchType",
    };
    Err(refused.to_owned())
}

fn annotations(said: &Value) -> Vec<(String, String)> {
    let said = said.as_object().into_iter().flatten();
    said.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(response: Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }

    #[test]
    fn an_answer_to_another_question_is_no_answer() {
        let read = Response::read("v1", "a", true, answer(json!({"uid": "b", "allowed": true})));
        assert_eq!(read, Err("expected response.uid=\"a\", got \"b\"".to_owned()));
        assert!(Response::read("v1beta1", "a", true, answer(json!({"uid": "b", "allowed": true}))).is_ok());
        assert_eq!(Response::read("v1", "a", true, json!({})), Err("webhook response was absent".to_owned()));
    }

    #[test]
    fn an_answer_of_other_types_is_none() {
        for (field, value) in [("allowed", json!("true")), ("warnings", json!("w")), ("patch", json!(1))] {
            let mut response = json!({"uid": "a", "allowed": true});
            response[field] = value;
            let refused = Response::read("v1", "a", true, answer(response)).unwrap_err();
            assert!(refused.contains(field), "{refused}");
        }
    }

    #[test]
    fn a_patch_is_base64_or_a_list_of_numbers_or_nothing() {
        let read = |patch: Value| {
            let patch_type = if patch.is_null() { Value::Null } else { json!("JSONPatch") };
            let response = json!({"uid": "u", "allowed": true, "patch": patch, "patchType": patch_type});
            let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            Response::read("v1", "u", true, answer).map(|read| read.patch)
        };
        assert_eq!(read(json!("W10=")), Ok(Some(b"[]".to_vec())));
        assert_eq!(read(json!([91, 93])), Ok(Some(b"[]".to_vec())));
        assert_eq!(read(json!([91, null])), Ok(Some(vec![91, 0])));
        assert_eq!(read(json!(null)), Ok(None));
        for (wrong, what) in [(json!([256]), "number 256"), (json!([1.0]), "number 1.0"), (json!(["a"]), "string")] {
            let why = format!(
                "json: cannot unmarshal {what} into Go struct field AdmissionResponse.response.patch of type uint8"
            );
            assert_eq!(read(wrong), Err(why));
        }
    }

    #[test]
    fn who_validates_may_not_patch() {
        let patched = || answer(json!({"uid": "a", "allowed": true, "patch": "W10=", "patchType": "JSONPatch"}));
        assert_eq!(Response::read("v1", "a", true, patched()).unwrap().patch.as_deref(), Some(&b"[]"[..]));
        assert!(Response::read("v1", "a", false, patched()).is_err());
        let untyped = answer(json!({"uid": "a", "allowed": true, "patch": "W10="}));
        assert!(Response::read("v1", "a", true, untyped).is_err());
    }

    #[test]
    fn a_refusal_has_a_code_of_failure_and_says_by_whom() {
        let refusal = |result: Value| {
            let answer = answer(json!({"uid": "a", "allowed": false, "status": result}));
            let status = Response::read("v1", "a", true, answer).unwrap().refusal("w.example.com");
            (status.code, status.message)
        };
        let denied = "admission webhook \"w.example.com\" denied the request";
        assert_eq!(refusal(Value::Null), (400, format!("{denied} without explanation")));
        assert_eq!(refusal(json!({"code": 200, "message": "no"})), (400, format!("{denied}: no")));
        assert_eq!(refusal(json!({"code": 403, "reason": "Forbidden"})), (403, format!("{denied}: Forbidden")));
    }
}
