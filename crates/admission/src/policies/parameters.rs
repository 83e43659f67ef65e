use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, GroupVersionResource, LabelSelector, Status};
use coracle_registry::{ListOptions, Review, Stored, Verb};
use serde_json::Value;

use super::basis::PolicyBasis;
use crate::lookup;

/// Why a policy cannot be evaluated, and which object is the cause.
pub(crate) enum Misconfigured {
    OfPolicy(String),
    OfBinding(String),
}

impl Misconfigured {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::OfPolicy(why) => format!("failed to configure policy: {why}"),
            Self::OfBinding(why) => format!("failed to configure binding: {why}"),
        }
    }
}

/// The resource of a policy's parameters.
pub(crate) struct ParameterResource {
    resource: GroupVersionResource,
    is_namespaced: bool,
}

/// The resource of `spec.paramKind`; `None` for a policy without parameters.
///
/// # Errors
/// If the kind is not served.
pub(crate) fn parameter_resource(
    review: &Review<'_>,
    policy: &PolicyBasis,
) -> Result<Option<ParameterResource>, Misconfigured> {
    if !policy.has_parameters() {
        return Ok(None);
    }
    let (api_version, kind) = (policy.parameter_version.as_str(), policy.parameter_kind.as_str());
    let known = GroupVersion::parse(api_version).and_then(|version| {
        let kinds = review.registry.kinds();
        let kind = kinds.kind(&version.kind(kind))?;
        Some(ParameterResource { resource: kind.gvr(), is_namespaced: kind.is_namespaced() })
    });
    let why = || format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'");
    known.map(Some).ok_or_else(|| Misconfigured::OfPolicy(why()))
}

/// The parameter objects of a binding with this `spec.paramRef`, or null without parameters.
/// In Kubernetes: `generic.CollectParams`.
///
/// # Errors
/// If the parameter objects cannot be read.
pub(crate) async fn find_parameters(
    review: &Review<'_>,
    kind: Option<&ParameterResource>,
    reference: &Value,
) -> Result<Result<Vec<Value>, Misconfigured>, Status> {
    let Some(ParameterResource { resource, is_namespaced }) = kind else { return Ok(Ok(vec![Value::Null])) };
    if reference.is_null() {
        return Ok(Ok(vec![Value::Null]));
    }
    let of_binding = |why: &str| Ok(Err(Misconfigured::OfBinding(why.to_owned())));
    let namespace = match (*is_namespaced, reference.text("namespace")) {
        (false, "") => "",
        (false, _) => {
            return of_binding("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
        }
        (true, "") if review.request.at.namespace.is_empty() => {
            let what = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return of_binding(what);
        }
        (true, "") => review.request.at.namespace.as_str(),
        (true, namespace) => namespace,
    };
    let found: Vec<Value> = match reference.text("name") {
        "" => {
            let selector = LabelSelector::from_json(Some(reference.at("selector")));
            let label_selector = selector.unwrap_or_else(|_| LabelSelector::nothing());
            let request = lookup::own(review.request.about(Verb::List, resource.clone(), namespace, ""));
            let options = ListOptions { label_selector, ..ListOptions::default() };
            let list = review.registry.list(&request, &options).await?;
            list.items.iter().map(|stored| Stored::object(stored).to_value()).collect()
        }
        name => {
            let found = lookup::get(review, resource.clone(), namespace, name).await?;
            found.iter().map(|object| object.to_value()).collect()
        }
    };
    if found.is_empty() && reference.text("parameterNotFoundAction") == "Deny" {
        return of_binding("no params found for policy binding with `Deny` parameterNotFoundAction");
    }
    Ok(Ok(found))
}
