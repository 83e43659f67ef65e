use std::sync::Arc;

use coracle_meta::{FieldSelector, LabelSelector, Status};
use coracle_registry::{Attributes, AuditNotes, Decision, Registry, Target, User, forbidden};

use crate::front::request_info::RequestInfo;
use crate::query::Query;

/// The attributes of a request of `user`. In Kubernetes: `GetAuthorizerAttributes`.
pub(crate) fn attributes(user: &Arc<User>, info: &RequestInfo, query: &Query) -> Attributes {
    let Some(asked) = &info.resource else {
        return Attributes::new(user, &info.verb, Target::Path(info.path.clone()));
    };
    let attributes = Attributes::of_resource(user, &info.verb, Arc::clone(&asked.at));
    // The legacy watch paths use selectors only in some cases, so selectors grant nothing there.
    let has_selectors = matches!(info.verb.as_str(), "list" | "watch" | "deletecollection") && !asked.watch_in_path;
    if !has_selectors {
        return attributes;
    }
    // An invalid selector grants nothing; the verb refuses it.
    let fields = query.get("fieldSelector").and_then(|text| FieldSelector::parse(text).ok());
    let labels = query.get("labelSelector").and_then(|text| LabelSelector::parse(text).ok());
    Attributes { field_selector: fields.unwrap_or_default(), label_selector: labels.unwrap_or_default(), ..attributes }
}

/// Refuses a request that is not allowed. In Kubernetes: `WithAuthorization`.
pub(crate) async fn decide(registry: &Registry, attributes: &Attributes) -> Result<(), Status> {
    decide_noted(registry, attributes, &AuditNotes::default()).await
}

/// The same, and records the decision and its reason in the audit log.
pub(crate) async fn decide_noted(
    registry: &Registry,
    attributes: &Attributes,
    audit: &AuditNotes,
) -> Result<(), Status> {
    let decision = registry.authorize(attributes).await;
    let (word, why) = match &decision {
        Ok(Decision::Allow(why)) => ("allow", why.as_str()),
        Ok(Decision::Deny(why) | Decision::NoOpinion(why)) => ("forbid", why.as_str()),
        Err(_) => ("", "internal error"),
    };
    if !word.is_empty() {
        audit.annotate("authorization.k8s.io/decision", word);
    }
    audit.annotate("authorization.k8s.io/reason", why);
    match decision? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => Err(forbidden(attributes, &why)),
    }
}
