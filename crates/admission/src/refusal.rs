use coracle_meta::{Object, Status};
use coracle_registry::Review;

/// The refusal of a review. In Kubernetes: `admission.NewForbidden`.
pub(crate) fn forbidden(review: &Review<'_>, why: impl AsRef<str>) -> Status {
    let request = review.request;
    let object = review.object();
    let given = object.map_or("", Object::name);
    let prefix = object.map_or("", |object| object.text("metadata.generateName"));
    let name = [request.at.name.as_str(), given, prefix].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
    Status::forbidden(&request.group_resource(), name, why.as_ref())
}
