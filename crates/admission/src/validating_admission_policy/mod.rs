//! `ValidatingAdmissionPolicy`: holds writes to expressions that objects of the API define.
//!
//! ```text
//! policies + bindings (read again when they change) --matching--> bound policies --policy--> findings --actions--> refusal | warning
//! ```
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/validating`.
//! Unlike Kubernetes: policies hold from the next request on; there is no `authorizer` in expressions; annotations for
//! the audit log are not computed, because there is none.

mod policy;

use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, GroupVersionResource, LabelSelector, Object, Status, StatusCause};
use coracle_registry::{Admission, Derived, ListOptions, Lists, Review, Stored, Verb};
use serde_json::Value;

use crate::lookup;
use crate::matching::Matching;
use crate::refusal::forbidden;
use crate::request_view::{is_exempt, is_review, namespace_of};
use policy::{Finding, Policy, Subject};

/// The plug-in, with the policies as their bindings apply them.
pub(crate) struct ValidatingAdmissionPolicy {
    bound: Derived<Vec<Bound>>,
}

impl Default for ValidatingAdmissionPolicy {
    fn default() -> Self {
        let reads = |_: &Lists| vec![resource(POLICIES), resource(BINDINGS)];
        Self { bound: Derived::new(reads, |lists, _| bind(lists)) }
    }
}

/// A policy as one binding applies it.
struct Bound {
    policy: Arc<Policy>,
    binding: String,
    matching: Matching,
    actions: Vec<String>,
    /// `spec.paramRef`; null for none.
    parameters: Value,
}

const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";

fn resource(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural)
}

#[async_trait]
impl Admission for ValidatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionPolicy"
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        // They cannot hold up what takes them back, nor what is not stored.
        let resource = &review.request.at.resource;
        if is_exempt(resource) || is_review(resource) {
            return Ok(());
        }
        let bound = self.bound.current(review.registry).await?;
        if bound.is_empty() {
            return Ok(());
        }
        let namespace = namespace_of(review).await?;
        let namespace = namespace.as_deref();
        let mut refusal = None;
        for bound in bound.iter() {
            let applies = bound.policy.matching.matches(review, namespace) && bound.matching.matches(review, namespace);
            if !applies {
                continue;
            }
            for finding in bound.findings(review, namespace).await? {
                bound.act(review, &finding, &mut refusal);
            }
        }
        refusal.map_or(Ok(()), Err)
    }
}

/// All policies with their bindings, compiled.
fn bind(lists: &Lists) -> Vec<Bound> {
    let policies: Vec<_> = lists.of(&resource(POLICIES)).map(|policy| Arc::new(Policy::read(&policy))).collect();
    let bound = lists.of(&resource(BINDINGS)).filter_map(|binding| {
        let policy = policies.iter().find(|policy| policy.name == binding.text("spec.policyName"))?;
        Some(Bound::read(Arc::clone(policy), &binding))
    });
    bound.collect()
}

impl Bound {
    fn read(policy: Arc<Policy>, binding: &Object) -> Self {
        Self {
            policy,
            binding: binding.name().to_owned(),
            matching: Matching::read(binding.at("spec.matchResources")),
            actions: binding.texts("spec.validationActions"),
            parameters: binding.at("spec.paramRef").clone(),
        }
    }

    async fn findings(&self, review: &Review<'_>, namespace: Option<&Object>) -> Result<Vec<Finding>, Status> {
        let subject = Subject::new(review, namespace);
        if !self.policy.has_parameters() {
            return Ok(self.policy.check(&subject, &Value::Null));
        }
        match self.find_parameters(review).await? {
            Ok(parameters) => {
                let checked = parameters.iter().map(|parameter| self.policy.check(&subject, &parameter.to_value()));
                Ok(checked.flatten().collect())
            }
            Err(why) if self.policy.fails_closed => {
                Ok(vec![Finding { message: format!("failed to configure binding: {why}"), reason: String::new() }])
            }
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The objects that the binding names as parameters; the inner error says why there are none.
    async fn find_parameters(&self, review: &Review<'_>) -> Result<Result<Vec<Arc<Object>>, String>, Status> {
        let (api_version, kind) = (self.policy.parameter_version.as_str(), self.policy.parameter_kind.as_str());
        let known = GroupVersion::parse(api_version).and_then(|version| {
            let kinds = review.registry.kinds();
            kinds.kind(&version.kind(kind)).map(|kind| (kind.gvr(), kind.is_namespaced()))
        });
        let Some((resource, is_namespaced)) = known else {
            return Ok(Err(format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'")));
        };
        let namespace = match (is_namespaced, self.parameters.text("namespace")) {
            (false, _) => "",
            (true, "") => review.request.at.namespace.as_str(),
            (true, namespace) => namespace,
        };
        let found = match self.parameters.text("name") {
            "" => {
                let selector = LabelSelector::from_json(Some(self.parameters.at("selector")));
                let label_selector = selector.unwrap_or_else(|_| LabelSelector::nothing());
                let request = lookup::own(review.request.about(Verb::List, resource, namespace, ""));
                let options = ListOptions { label_selector, ..ListOptions::default() };
                let list = review.registry.list(&request, &options).await?;
                list.items.iter().map(Stored::object).collect()
            }
            name => lookup::get(review, resource, namespace, name).await?.into_iter().collect::<Vec<_>>(),
        };
        if found.is_empty() && self.parameters.text("parameterNotFoundAction") == "Deny" {
            return Ok(Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()));
        }
        Ok(Ok(found))
    }

    /// Refuses or warns, as the binding says. The first refusal is the one that the client gets.
    fn act(&self, review: &Review<'_>, finding: &Finding, refusal: &mut Option<Status>) {
        let who = format!("ValidatingAdmissionPolicy '{}' with binding '{}'", self.policy.name, self.binding);
        for action in &self.actions {
            match action.as_str() {
                "Deny" if refusal.is_none() => {
                    *refusal =
                        Some(refuse(review, &format!("{who} denied request: {}", finding.message), &finding.reason));
                }
                "Warn" => {
                    let warning = format!("Validation failed for {who}: {}", finding.message);
                    review.request.warnings.add(warning);
                }
                _ => {}
            }
        }
    }
}

/// The answer to a request that a policy refuses: words of a 403, but the code of the policy's reason.
fn refuse(review: &Review<'_>, message: &str, reason: &str) -> Status {
    let mut status = forbidden(review, message);
    let reason = if reason.is_empty() { "Invalid" } else { reason };
    status.code = match reason {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    reason.clone_into(&mut status.reason);
    if let Some(details) = &mut status.details {
        details.causes.push(StatusCause { message: message.to_owned(), ..StatusCause::default() });
    }
    status
}
