use std::collections::BTreeSet;

use coracle_meta::{Object, Status};
use coracle_registry::Review;

/// Several reasons as one text: without duplicates, in brackets if several remain; `None` if there are no reasons.
/// In Go: `utilerrors.NewAggregate`.
pub(crate) fn aggregate<S: AsRef<str>>(reasons: &[S]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = reasons.iter().map(AsRef::as_ref).filter(|reason| seen.insert(*reason)).collect();
    match distinct[..] {
        [] => None,
        [one] => Some(one.to_owned()),
        _ => Some(format!("[{}]", distinct.join(", "))),
    }
}

/// The refusal of a review. In Kubernetes: `admission.NewForbidden`.
pub(crate) fn forbidden(review: &Review<'_>, why: impl AsRef<str>) -> Status {
    let request = review.request;
    let object = review.object();
    let given = object.map_or("", Object::name);
    let prefix = object.map_or("", |object| object.text("metadata.generateName"));
    let name = [request.at.name.as_str(), given, prefix].into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
    Status::forbidden(&request.group_resource(), name, why.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_reasons_are_removed() {
        assert_eq!(aggregate::<&str>(&[]), None);
        assert_eq!(aggregate(&["a", "a"]).unwrap(), "a");
        assert_eq!(aggregate(&["a", "b", "a"]).unwrap(), "[a, b]");
    }
}
