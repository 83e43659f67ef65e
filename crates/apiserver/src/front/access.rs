use std::sync::Arc;

use coracle_meta::{FieldSelector, LabelSelector, Status};
use coracle_registry::{Attributes, Decision, Registry, Target, User, forbidden};

use crate::front::query::Query;
use crate::front::request_info::RequestInfo;

/// What `user` asks for. In Kubernetes: `GetAuthorizerAttributes`.
pub(crate) fn attributes(user: &Arc<User>, info: &RequestInfo, query: &Query) -> Attributes {
    let Some(asked) = &info.resource else {
        return Attributes::new(user, &info.verb, Target::Path(info.path.clone()));
    };
    let attributes = Attributes::of_resource(user, &info.verb, Arc::clone(&asked.at));
    // The old paths of watches take selectors in some cases only, so that nothing is granted for them.
    let has_selectors = matches!(info.verb.as_str(), "list" | "watch" | "deletecollection") && !asked.watch_in_path;
    if !has_selectors {
        return attributes;
    }
    // What cannot be read selects nothing that a right could be granted for; the verb refuses it.
    let fields = query.get("fieldSelector").and_then(|text| FieldSelector::parse(text).ok());
    let labels = query.get("labelSelector").and_then(|text| LabelSelector::parse(text).ok());
    Attributes { field_selector: fields.unwrap_or_default(), label_selector: labels.unwrap_or_default(), ..attributes }
}

/// Refuses what is not allowed. In Kubernetes: `WithAuthorization`.
pub(crate) async fn decide(registry: &Registry, attributes: &Attributes) -> Result<(), Status> {
    match registry.authorize(attributes).await? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => Err(forbidden(attributes, &why)),
    }
}
