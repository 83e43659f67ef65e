use coracle_ambient::Timestamp;
use coracle_meta::Status;
use coracle_meta::fields::Fields;
use coracle_registry::{Attributes, AuditLevel, Noted, Target, User};
use serde_json::{Map, Value, json};

use super::policy::Stage;
use crate::answer::respond::status_value;

/// The facts in every event of a request. In Kubernetes: `LogRequestMetadata`.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) level: AuditLevel,
    pub(super) audit_id: String,
    pub(super) uri: String,
    pub(super) attributes: Attributes,
    pub(super) impersonated: Option<User>,
    pub(super) sources: Vec<String>,
    pub(super) agent: String,
    pub(super) received: Timestamp,
}

/// How a request ended.
#[derive(Clone, Debug)]
pub(super) struct AuditedResponse {
    pub(super) code: u16,
    /// The Status of an error.
    pub(super) status: Option<Status>,
}

/// The maximum length of a user agent, in bytes; longer ones are truncated.
const LONGEST_AGENT: usize = 1024;

impl Facts {
    /// The event of a stage, as in `audit.k8s.io/v1`.
    pub(super) fn event(
        &self,
        stage: Stage,
        now: Timestamp,
        outcome: Option<&AuditedResponse>,
        noted: &Noted,
    ) -> Value {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": level(self.level), "auditID": self.audit_id,
            "stage": stage.word(), "requestURI": self.uri, "verb": self.attributes.verb,
            "user": user(&self.attributes.user), "userAgent": agent(&self.agent),
            "requestReceivedTimestamp": micro_time(self.received), "stageTimestamp": micro_time(now),
        });
        if let Some(impersonated) = &self.impersonated {
            event["impersonatedUser"] = user(impersonated);
        }
        if !self.sources.is_empty() {
            event["sourceIPs"] = self.sources.clone().into();
        }
        if let Some(reference) = self.reference(noted.request.as_ref()) {
            event["objectRef"] = reference;
        }
        if let Some(AuditedResponse { code, status }) = outcome {
            event["responseStatus"] = match status {
                Some(status) => response_status(status),
                None => json!({"metadata": {}, "code": code}),
            };
        }
        if let Some(request) = &noted.request {
            event["requestObject"] = request.clone();
        }
        let failure = || outcome.and_then(|outcome| outcome.status.as_ref()).map(status_value);
        let keeps_answers = self.level >= AuditLevel::RequestResponse;
        if let Some(response) = noted.response.clone().or_else(failure).filter(|_| keeps_answers) {
            event["responseObject"] = response;
        }
        if !noted.annotations.is_empty() {
            event["annotations"] = json!(noted.annotations);
        }
        event
    }

    /// The `objectRef` of the request: from its path and, for missing parts, from its object.
    fn reference(&self, object: Option<&Value>) -> Option<Value> {
        let Target::Resource(at) = &self.attributes.target else { return None };
        let said = |field: &str| object.map_or("", |object| object.text(field));
        let or = |path: &str, field: &str| if path.is_empty() { said(field).to_owned() } else { path.to_owned() };
        let fields = [
            ("resource", at.resource.resource.clone()),
            ("namespace", or(&at.namespace, "metadata.namespace")),
            ("name", or(&at.name, "metadata.name")),
            ("uid", said("metadata.uid").to_owned()),
            ("apiGroup", at.resource.group.clone()),
            ("apiVersion", at.resource.version.clone()),
            ("resourceVersion", said("metadata.resourceVersion").to_owned()),
            ("subresource", at.subresource.clone()),
        ];
        let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
        Some(fields.map(|(name, text)| (name.to_owned(), text.into())).collect::<Map<String, Value>>().into())
    }
}

fn level(level: AuditLevel) -> &'static str {
    match level {
        AuditLevel::None => "None",
        AuditLevel::Metadata => "Metadata",
        AuditLevel::Request => "Request",
        AuditLevel::RequestResponse => "RequestResponse",
    }
}

fn user(user: &User) -> Value {
    let mut told = Map::new();
    let fields = [("username", &user.name), ("uid", &user.uid)];
    told.extend(
        fields.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.to_owned(), json!(text))),
    );
    if !user.groups.is_empty() {
        told.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        told.insert("extra".to_owned(), json!(user.extra));
    }
    told.into()
}

fn agent(agent: &str) -> String {
    if agent.len() <= LONGEST_AGENT {
        return agent.to_owned();
    }
    let end = (0..=LONGEST_AGENT).rev().find(|end| agent.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...TRUNCATED", &agent[..end])
}

fn response_status(status: &Status) -> Value {
    let mut told = status_value(status);
    if let Some(told) = told.as_object_mut() {
        told.remove("kind");
        told.remove("apiVersion");
    }
    told
}

/// In Kubernetes: `metav1.MicroTime`.
fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The same object without `managedFields`.
pub(super) fn without_managed_fields(mut value: Value) -> Value {
    let remove = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    remove(&mut value);
    for (list, inner) in [("items", None), ("rows", Some("object"))] {
        for element in value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            match inner {
                Some(inner) => element.get_mut(inner).into_iter().for_each(remove),
                None => remove(element),
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_and_a_long_agent_is_cut() {
        assert_eq!(micro_time(Timestamp::from_second(0).unwrap()), "1970-01-01T00:00:00.000000Z");
        assert_eq!(agent(&"é".repeat(600)).len(), 1024 + "...TRUNCATED".len());
    }

    #[test]
    fn managed_fields_are_left_out_of_objects_lists_and_tables() {
        let object = json!({"metadata": {"name": "a", "managedFields": [1]}});
        let all = json!({"metadata": {"managedFields": [1]}, "items": [object], "rows": [{"object": object}]});
        assert!(!without_managed_fields(all).to_string().contains("managedFields"));
    }
}
