//! The objects of a request for a webhook or a policy: in the request's version, or in the version of a rule.

use std::sync::Arc;

use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{Kind, Questions, Review};
use serde_json::Value;

use crate::matching::RuleMatch;
use crate::request_view::{admission_request, kind_of};

/// The objects and the request in one version. In Kubernetes: `admission.VersionedAttributes`.
pub(crate) struct Shown {
    /// The kind whose version is used, if it is not the request's.
    pub(crate) elsewhere: Option<Arc<Kind>>,
    pub(crate) object: Value,
    pub(crate) old: Value,
    pub(crate) request: Value,
}

impl Shown {
    /// The objects for a request with this match.
    ///
    /// # Errors
    /// If the objects cannot be converted.
    pub(crate) async fn of(review: &Review<'_>, found: RuleMatch) -> Result<Self, Status> {
        let elsewhere = match found {
            RuleMatch::AsAsked => None,
            RuleMatch::Elsewhere(kind) => Some(kind),
        };
        let show = |object: Option<&Object>| match (object, &elsewhere) {
            (None, _) => Ok(Value::Null),
            (Some(object), Some(kind)) if is_whole(review, object) => {
                review.kind().convert(object, kind).map(Object::into_value)
            }
            (Some(object), _) => Ok(object.to_value()),
        };
        // Both conversions are requested before either fails, so that one call converts both.
        let both = || Questions::both(show(review.object()), show(review.old));
        let (object, old) = review.registry.planned(review.request, review.kind(), both).await?;
        let request =
            admission_request(review, &resource(review, elsewhere.as_deref()), &kind(review, elsewhere.as_deref()));
        Ok(Self { elsewhere, object, old, request })
    }
}

/// Whether this is an object of the request's kind, as opposed to the body of a subresource.
pub(crate) fn is_whole(review: &Review<'_>, object: &Object) -> bool {
    let kind = review.kind().gvk();
    review.request.at.subresource.is_empty()
        || object.api_version() == kind.api_version() && object.text("kind") == kind.kind
}

fn resource(review: &Review<'_>, elsewhere: Option<&Kind>) -> GroupVersionResource {
    elsewhere.map_or_else(|| review.request.at.resource.clone(), Kind::gvr)
}

fn kind(review: &Review<'_>, elsewhere: Option<&Kind>) -> GroupVersionKind {
    let asked = kind_of(review);
    match elsewhere {
        Some(elsewhere) if asked == *review.kind().gvk() => elsewhere.gvk().clone(),
        _ => asked,
    }
}
