//! `AdmissionReview`: the request to a webhook and its response. In Kubernetes: `webhook/request`.

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, Status, go_quote};
use coracle_registry::check_review_kind;
use coracle_schema::decode::decode_base64;
use serde_json::{Value, json};

const GROUP: &str = "admission.k8s.io";
/// The supported versions of the review.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// The type of patches.
pub(super) const JSON_PATCH: &str = "JSONPatch";

/// The body of the request.
pub(super) fn body(version: &str, uid: &str, request: &Value, object: &Value, old: &Value) -> Vec<u8> {
    let mut request = request.clone();
    request["uid"] = uid.into();
    request["object"] = object.clone();
    request["oldObject"] = old.clone();
    json!({"kind": "AdmissionReview", "apiVersion": format!("{GROUP}/{version}"), "request": request})
        .to_string()
        .into_bytes()
}

/// The response of a webhook.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) is_allowed: bool,
    /// The patch, if there is one.
    pub(super) patch: Option<Vec<u8>>,
    /// The type of the patch; only [`JSON_PATCH`] is supported.
    pub(super) patch_type: String,
    pub(super) warnings: Vec<String>,
    /// The audit annotations.
    pub(super) annotations: Vec<(String, String)>,
    result: Value,
}

/// A response with the form of a review in the version of the request.
pub(super) struct Answered {
    answer: Value,
    /// The bytes of the patch; empty if it is missing.
    patch: Vec<u8>,
}

impl Answered {
    /// Decodes the response of a webhook in `version`.
    ///
    /// # Errors
    /// Why it is not a review, in Go's words. In Kubernetes: `rest.Result.Into`.
    pub(super) fn read(version: &str, answer: Value) -> Result<Self, String> {
        check_review_kind(&answer, "AdmissionReview", &GroupVersion::new(GROUP, version), &VERSIONS)?;
        check_types(version, &answer)?;
        let patch = bytes(answer.at("response").at("patch"))?;
        Ok(Self { answer, patch })
    }
}

impl Response {
    /// Verifies the response to the review `uid`.
    ///
    /// # Errors
    /// Why the response is invalid, in Kubernetes' words. In Kubernetes: `VerifyAdmissionResponse`.
    pub(super) fn verified(version: &str, uid: &str, mutates: bool, answered: Answered) -> Result<Self, String> {
        let Answered { answer, patch } = answered;
        let response = answer.at("response");
        if !response.is_object() {
            return Err("webhook response was absent".to_owned());
        }
        // v1beta1 requires neither the uid nor the kind.
        let is_strict = version == "v1";
        if is_strict && response.text("uid") != uid {
            return Err(format!("expected response.uid={}, got {}", go_quote(uid), go_quote(response.text("uid"))));
        }
        let patch_type = response.at("patchType").as_str();
        if is_strict {
            check_kind(&answer)?;
            check_patch(!patch.is_empty(), patch_type, mutates)?;
        }
        let warnings = response.list("warnings").iter().filter_map(|text| text.as_str().map(str::to_owned)).collect();
        Ok(Self {
            is_allowed: response.at("allowed") == &Value::Bool(true),
            patch: Some(patch).filter(|patch| mutates && !patch.is_empty()),
            patch_type: if is_strict { patch_type.unwrap_or("") } else { JSON_PATCH }.to_owned(),
            warnings,
            annotations: annotations(response.at("auditAnnotations")),
            result: response.at("status").clone(),
        })
    }

    /// The refusal of the webhook as a complete Status. In Kubernetes: `ToStatusErr`.
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

/// Checks that the fields have Go's types; an absent field has its zero value.
fn check_types(version: &str, answer: &Value) -> Result<(), String> {
    let misfit = |value: &Value, field: &str, kind: &str| {
        Err(format!("json: cannot unmarshal {} into Go struct field {field} of type {kind}", go_kind(value)))
    };
    let response = answer.at("response");
    if !response.is_null() && !response.is_object() {
        return misfit(response, "AdmissionReview.response", &format!("{version}.AdmissionResponse"));
    }
    let patch_type = format!("{version}.PatchType");
    for (name, form, kind) in [
        ("uid", Form::Text, "types.UID"),
        ("allowed", Form::Bool, "bool"),
        ("status", Form::Struct, "v1.Status"),
        ("patch", Form::Bytes, "[]uint8"),
        ("patchType", Form::Text, patch_type.as_str()),
        ("auditAnnotations", Form::Struct, "map[string]string"),
        ("warnings", Form::List, "[]string"),
    ] {
        let (value, field) = (response.at(name), format!("AdmissionResponse.response.{name}"));
        if !form.holds(value) {
            return misfit(value, &field, kind);
        }
        let elements: Vec<&Value> = match (name, value) {
            ("warnings", Value::Array(list)) => list.iter().collect(),
            ("auditAnnotations", Value::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        };
        if let Some(wrong) = elements.into_iter().find(|element| !Form::Text.holds(element)) {
            return misfit(wrong, &field, "string");
        }
    }
    let status = response.at("status");
    for (name, form, kind) in [
        ("status", Form::Text, "string"),
        ("message", Form::Text, "string"),
        ("reason", Form::Text, "v1.StatusReason"),
        ("details", Form::Struct, "v1.StatusDetails"),
        ("code", Form::Int32, "int32"),
    ] {
        let (value, field) = (status.at(name), format!("Status.response.status.{name}"));
        if !form.holds(value) {
            let what = if matches!(form, Form::Int32) { go_number(value) } else { go_kind(value).to_owned() };
            return Err(format!("json: cannot unmarshal {what} into Go struct field {field} of type {kind}"));
        }
    }
    Ok(())
}

/// The form of a value in JSON.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Bytes,
    Bool,
    Int32,
    Struct,
    List,
}

impl Form {
    fn holds(self, value: &Value) -> bool {
        match self {
            _ if value.is_null() => true,
            Self::Text => value.is_string(),
            Self::Bytes => value.is_string() || value.is_array(),
            Self::Bool => value.is_boolean(),
            Self::Int32 => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            Self::Struct => value.is_object(),
            Self::List => value.is_array(),
        }
    }
}

/// Go's name of the type of a JSON value.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The same for a number of another type.
fn go_number(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("number {number}"),
        other => go_kind(other).to_owned(),
    }
}

/// Decodes bytes like Go: from base64, or from a list of numbers, which kube-rs writes. In Go: `encoding/json`.
fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    let byte = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Number(number) => number.to_string().parse().map_err(|_| go_number(item)),
        other => Err(go_number(other)),
    };
    let wrong = |what: String| {
        format!("json: cannot unmarshal {what} into Go struct field AdmissionResponse.response.patch of type uint8")
    };
    match value {
        Value::Array(items) => items.iter().map(|item| byte(item).map_err(wrong)).collect(),
        text => decode_base64(text.as_str().unwrap_or_default()),
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

fn check_patch(has_patch: bool, patch_type: Option<&str>, mutates: bool) -> Result<(), String> {
    let refused = match (mutates, has_patch, patch_type) {
        (true, true, None) => "webhook returned response.patch but not response.patchType",
        (true, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, true, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (true, true, Some(_)) | (true, false, None) | (false, false, None) => return Ok(()),
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

    fn read(version: &str, mutates: bool, answer: Value) -> Result<Response, String> {
        Response::verified(version, "a", mutates, Answered::read(version, answer)?)
    }

    #[test]
    fn a_response_for_another_uid_is_refused() {
        let other = || answer(json!({"uid": "b", "allowed": true}));
        assert_eq!(read("v1", true, other()), Err("expected response.uid=\"a\", got \"b\"".to_owned()));
        let former = json!({"response": {"uid": "b", "allowed": true}});
        assert!(read("v1beta1", true, former.clone()).is_ok());
        let unnamed = json!({"response": {"uid": "a", "allowed": true}});
        let got = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=";
        assert_eq!(read("v1", true, unnamed), Err(got.to_owned()));
        assert_eq!(read("v1", true, json!({})), Err("webhook response was absent".to_owned()));
        let converting = "converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion";
        assert_eq!(read("v1beta1", true, other()), Err(converting.to_owned()));
    }

    #[test]
    fn an_answer_of_other_types_is_refused_in_gos_words() {
        let into = |value: &str, field: &str, kind: &str| {
            format!("json: cannot unmarshal {value} into Go struct field {field} of type {kind}")
        };
        for (field, value, why) in [
            ("allowed", json!("true"), into("string", "AdmissionResponse.response.allowed", "bool")),
            ("warnings", json!("w"), into("string", "AdmissionResponse.response.warnings", "[]string")),
            ("warnings", json!([true]), into("bool", "AdmissionResponse.response.warnings", "string")),
            (
                "auditAnnotations",
                json!({"a": {}}),
                into("object", "AdmissionResponse.response.auditAnnotations", "string"),
            ),
            ("patchType", json!([]), into("array", "AdmissionResponse.response.patchType", "v1.PatchType")),
            ("status", json!({"message": {}}), into("object", "Status.response.status.message", "string")),
            ("uid", json!(1), into("number", "AdmissionResponse.response.uid", "types.UID")),
            ("status", json!({"code": 1.5}), into("number 1.5", "Status.response.status.code", "int32")),
            ("patch", json!("%"), "illegal base64 data at input byte 0".to_owned()),
        ] {
            let mut response = json!({"uid": "a", "allowed": true});
            response[field] = value;
            assert_eq!(read("v1", true, answer(response)), Err(why));
        }
        let scalar = into("string", "AdmissionReview.response", "v1.AdmissionResponse");
        assert_eq!(read("v1", true, answer(json!("x"))), Err(scalar));
    }

    #[test]
    fn a_patch_is_base64_or_a_list_of_numbers_or_nothing() {
        let read = |patch: Value| {
            let patch_type = if patch.is_null() { Value::Null } else { json!("JSONPatch") };
            let response = json!({"uid": "a", "allowed": true, "patch": patch, "patchType": patch_type});
            read("v1", true, answer(response)).map(|read| read.patch)
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
    fn a_validating_webhook_must_not_patch() {
        let patched = |kind: &str| answer(json!({"uid": "a", "allowed": true, "patch": "W10=", "patchType": kind}));
        let response = read("v1", true, patched("JSONPatch")).unwrap();
        assert_eq!((response.patch.as_deref(), response.patch_type.as_str()), (Some(&b"[]"[..]), "JSONPatch"));
        assert_eq!(read("v1", true, patched("MergePatch")).unwrap().patch_type, "MergePatch");
        assert!(read("v1", false, patched("JSONPatch")).is_err());
        let untyped = answer(json!({"uid": "a", "allowed": true, "patch": "W10="}));
        assert!(read("v1", true, untyped).is_err());
    }

    #[test]
    fn a_refusal_has_an_error_code_and_names_the_webhook() {
        let refusal = |result: Value| {
            let answer = answer(json!({"uid": "a", "allowed": false, "status": result}));
            let status = read("v1", true, answer).unwrap().refusal("w.example.com");
            (status.code, status.message)
        };
        let denied = "admission webhook \"w.example.com\" denied the request";
        assert_eq!(refusal(Value::Null), (400, format!("{denied} without explanation")));
        assert_eq!(refusal(json!({"code": 200, "message": "no"})), (400, format!("{denied}: no")));
        assert_eq!(refusal(json!({"code": 403, "reason": "Forbidden"})), (403, format!("{denied}: Forbidden")));
    }
}
