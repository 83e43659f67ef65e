use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{FieldError, GroupResource, GroupVersionKind, go_quote};

/// The words of `Status.reason`. In Kubernetes: `metav1.StatusReason`.
pub mod reason {
    #![expect(missing_docs, reason = "each constant is the word it holds")]
    pub const UNAUTHORIZED: &str = "Unauthorized";
    pub const FORBIDDEN: &str = "Forbidden";
    pub const NOT_FOUND: &str = "NotFound";
    pub const ALREADY_EXISTS: &str = "AlreadyExists";
    pub const CONFLICT: &str = "Conflict";
    pub const GONE: &str = "Gone";
    pub const INVALID: &str = "Invalid";
    pub const TIMEOUT: &str = "Timeout";
    pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
    pub const BAD_REQUEST: &str = "BadRequest";
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
    pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
    pub const INTERNAL_ERROR: &str = "InternalError";
    pub const EXPIRED: &str = "Expired";
    pub const STORE_READ_ERROR: &str = "StorageReadError";
    pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
}

/// The answer that is not an object: every failure of the API, and the success of a delete.
///
/// In Kubernetes: `metav1.Status`; the constructors follow `apimachinery/pkg/api/errors`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// One word for programs, see [`reason`]; empty where the server has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The details of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
    /// `metadata.continue` and `metadata.resourceVersion`, which an expired list carries.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// The details of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group of the resource or kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The plural of the resource; the kind in a 422.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The single findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// After how many seconds to try again; 0 for never.
    #[serde(skip_serializing_if = "is_zero_u32")]
    pub retry_after_seconds: u32,
}

/// How many errors an answer lists: the first is always among them.
fn listed_errors(errors: &[FieldError]) -> usize {
    let mut bytes = 0_usize;
    let fits = |error: &&FieldError| {
        bytes = bytes.saturating_add(error.length());
        bytes <= Status::LISTED_BYTES
    };
    errors.iter().take_while(fits).count().max(errors.len().min(1))
}

/// One finding of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// One word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field, as a path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(code: &u16) -> bool {
    *code == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero_u32(seconds: &u32) -> bool {
    *seconds == 0
}

impl Status {
    /// How many bytes the texts of errors in one answer have at most. Errors beyond that are counted, not listed.
    pub const LISTED_BYTES: usize = 8 << 20;

    /// A failure with a code, a reason and a message, and no details.
    pub fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status: "Failure".to_owned(),
            message: message.into(),
            reason: reason.to_owned(),
            details: None,
            code,
            metadata: serde_json::Map::new(),
        }
    }

    /// Success, as a delete answers.
    pub fn success() -> Self {
        Self { status: "Success".to_owned(), code: 0, ..Self::failure(0, "", "") }
    }

    fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        self.details = Some(Box::new(StatusDetails {
            name: name.to_owned(),
            group: resource.group.clone(),
            kind: resource.resource.clone(),
            ..StatusDetails::default()
        }));
        self
    }

    /// With these details.
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// With one more cause.
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: impl Into<String>) -> Self {
        let details = self.details.get_or_insert_with(Box::default);
        details.causes.push(StatusCause { reason: reason.to_owned(), message: message.into(), field: field.into() });
        self
    }

    /// With the advice to try again after `seconds`.
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_with(Box::default).retry_after_seconds = seconds;
        self
    }

    /// 404: `pods "web" not found`.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::failure(404, reason::NOT_FOUND, format!("{resource} {} not found", go_quote(name))).about(resource, name)
    }

    /// 409: `pods "web" already exists`.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::failure(409, reason::ALREADY_EXISTS, format!("{resource} {} already exists", go_quote(name)))
            .about(resource, name)
    }

    /// 409: `Operation cannot be fulfilled on pods "web": <why>`.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", go_quote(name));
        Self::failure(409, reason::CONFLICT, message).about(resource, name)
    }

    /// 409 with the sentence of a failed optimistic lock.
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 403: `pods "web" is forbidden: <why>`; with an empty name `pods is forbidden: <why>`.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = match (resource.resource.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{resource} is forbidden: {why}"),
            (false, false) => format!("{resource} {} is forbidden: {why}", go_quote(name)),
        };
        Self::failure(403, reason::FORBIDDEN, message).about(resource, name)
    }

    /// 422: `Pod "web" is invalid: <errors>`, with a cause an error. Of errors whose texts have more than 8 MiB together,
    /// the first are listed, and the last words of the message count the others.
    pub fn invalid(kind: &GroupVersionKind, name: &str, errors: &[FieldError]) -> Self {
        let (listed, others) = errors.split_at(listed_errors(errors));
        let messages: Vec<_> = listed.iter().map(FieldError::message).collect();
        let mut seen = BTreeSet::new();
        let mut distinct: Vec<&str> = messages.iter().map(String::as_str).filter(|text| seen.insert(*text)).collect();
        let rest = format!("and {} more errors", others.len());
        if !others.is_empty() {
            distinct.push(&rest);
        }
        let joined = match distinct.as_slice() {
            [] => String::new(),
            [single] => (*single).to_owned(),
            several => format!("[{}]", several.join(", ")),
        };
        let group_kind = match kind.group.as_str() {
            "" => kind.kind.clone(),
            group => format!("{}.{group}", kind.kind),
        };
        let message = if joined.is_empty() {
            format!("{group_kind} {} is invalid", go_quote(name))
        } else {
            format!("{group_kind} {} is invalid: {joined}", go_quote(name))
        };
        let causes = listed
            .iter()
            .map(|error| StatusCause {
                reason: error.kind.reason().to_owned(),
                message: error.body(),
                field: error.field.clone(),
            })
            .collect();
        Self::failure(422, reason::INVALID, message).with_details(StatusDetails {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..StatusDetails::default()
        })
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, reason::BAD_REQUEST, message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::failure(401, reason::UNAUTHORIZED, "Unauthorized")
    }

    /// 405: `create is not supported on resources of kind "pods"`.
    pub fn method_not_supported(resource: &GroupResource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {}", go_quote(&resource.to_string()));
        let status = Self::failure(405, reason::METHOD_NOT_ALLOWED, message);
        status.about(resource, "")
    }

    /// 410: the requested version is compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, reason::EXPIRED, message)
    }

    /// 500: `Internal error occurred: <why>`.
    pub fn internal(why: impl std::fmt::Display) -> Self {
        let mut status = Self::failure(500, reason::INTERNAL_ERROR, format!("Internal error occurred: {why}"));
        status.details = Some(Box::new(StatusDetails {
            causes: vec![StatusCause { message: why.to_string(), ..StatusCause::default() }],
            ..StatusDetails::default()
        }));
        status
    }

    /// 504 with reason `Timeout`: `Timeout: <why>`.
    pub fn timeout(why: &str, retry_after_seconds: u32) -> Self {
        Self::failure(504, reason::TIMEOUT, format!("Timeout: {why}")).with_retry_after(retry_after_seconds)
    }

    /// 429.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(429, reason::TOO_MANY_REQUESTS, message).with_retry_after(retry_after_seconds)
    }

    /// Whether this is a 404.
    pub fn is_not_found(&self) -> bool {
        self.reason == reason::NOT_FOUND || (self.reason.is_empty() && self.code == 404)
    }

    /// Whether the object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == reason::ALREADY_EXISTS
    }

    /// Whether an optimistic lock or a precondition failed.
    pub fn is_conflict(&self) -> bool {
        self.reason == reason::CONFLICT
    }

    /// Whether the requested version is compacted (410).
    pub fn is_expired(&self) -> bool {
        self.reason == reason::EXPIRED || self.reason == reason::GONE
    }

    /// Whether a stored value cannot be decoded as an object of its kind (500).
    pub fn is_store_read_error(&self) -> bool {
        self.reason == reason::STORE_READ_ERROR
    }

    /// Whether the object was refused as invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.reason == reason::INVALID
    }

    /// Whether the caller may not do this (403).
    pub fn is_forbidden(&self) -> bool {
        self.reason == reason::FORBIDDEN
    }

    /// Whether a cause with this reason is among the details.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| cause.reason == reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_error_has_no_brackets_and_several_have() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let one = FieldError::required("a", "");
        let status = Status::invalid(&kind, "web", std::slice::from_ref(&one));
        assert_eq!(status.message, "Deployment.apps \"web\" is invalid: a: Required value");
        let two = Status::invalid(&kind, "web", &[one, FieldError::forbidden("b", "no")]);
        assert_eq!(two.message, "Deployment.apps \"web\" is invalid: [a: Required value, b: Forbidden: no]");
    }

    #[test]
    fn equal_messages_are_listed_once_in_the_order_of_the_first_and_causes_are_not() {
        let kind = GroupVersionKind::new("", "v1", "Pod");
        // Compared each with all, these are ten thousand million comparisons.
        let errors: Vec<_> = (0..200_000).map(|at| FieldError::required(format!("a[{}]", at % 100_000), "")).collect();
        let status = Status::invalid(&kind, "web", &errors);
        assert!(status.message.starts_with("Pod \"web\" is invalid: [a[0]: Required value, a[1]: Required value, "));
        assert_eq!(status.message.matches("Required value").count(), 100_000);
        assert_eq!(status.details.unwrap().causes.len(), 200_000);
    }

    #[test]
    fn an_answer_lists_errors_up_to_a_size_and_counts_the_others() {
        let kind = GroupVersionKind::new("", "v1", "Pod");
        let all: std::sync::Arc<str> = "x".repeat(1 << 20).into();
        let error = || FieldError::invalid("a", serde_json::Value::Null, "no").printed_as(std::sync::Arc::clone(&all));
        let errors: Vec<_> = (0..1_000).map(|at| FieldError { field: format!("a[{at}]"), ..error() }).collect();
        let status = Status::invalid(&kind, "web", &errors);
        assert!(status.message.ends_with(", and 993 more errors]"), "{}", status.message.len());
        assert_eq!(status.details.unwrap().causes.len(), 7);
        let large = FieldError::invalid("a", "x".repeat(9 << 20), "");
        assert_eq!(Status::invalid(&kind, "web", &[large]).details.unwrap().causes.len(), 1);
    }

    #[test]
    fn resources_of_a_group_are_named_with_it() {
        let status = Status::not_found(&GroupResource::new("apps", "deployments"), "web");
        assert_eq!(status.message, "deployments.apps \"web\" not found");
    }
}
