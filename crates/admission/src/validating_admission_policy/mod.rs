//! `ValidatingAdmissionPolicy`: validates writes with CEL expressions in API objects.
//!
//! ```text
//! policies + bindings (read again when they change) --matching--> bound policies --policy--> findings --actions--> refusal | warning
//! ```
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/validating`.
//! Unlike Kubernetes: a policy takes effect with the next request.

mod policy;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_expression::Allowance;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status, StatusCause};
use coracle_registry::{Admission, Derived, Lists, Review};
use serde_json::Value;

use crate::authorization::Answers;
use crate::matching::Matching;
use crate::policies::{Misconfigured, PolicyVariables, find_parameters, parameter_resource};
use crate::refusal::forbidden;
use crate::request_view::{is_policy, is_review, namespace_of};
use crate::shown::Shown;
use crate::unreadable::Configured;
use policy::{Finding, Policy};

/// The plug-in, with its bound policies.
pub(crate) struct ValidatingAdmissionPolicy {
    bound: Derived<Configured<Bound>>,
}

impl Default for ValidatingAdmissionPolicy {
    fn default() -> Self {
        let reads = |_: &Lists| vec![resource(POLICIES), resource(BINDINGS)];
        let read = |lists: &Lists, _: &Configured<Bound>| {
            Configured::new(bind(lists), lists, &[resource(POLICIES), resource(BINDINGS)])
        };
        Self { bound: Derived::new(reads, read) }
    }
}

/// A policy with one binding.
struct Bound {
    policy: Arc<Policy>,
    binding: String,
    matching: Matching,
    actions: Vec<String>,
    /// `spec.paramRef`; null if it is missing.
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
        // Policies apply neither to their own removal nor to review kinds.
        let resource = &review.request.at.resource;
        if is_policy(resource) || is_review(resource) {
            return Ok(());
        }
        let bound = self.bound.current(review.registry).await?;
        bound.check(review)?;
        let bound = &bound.read;
        if bound.is_empty() {
            return Ok(());
        }
        let namespace = namespace_of(review).await?;
        let namespace = namespace.as_deref();
        let answers = Arc::new(Answers::default());
        // The request in each of the versions of the policies.
        let mut subjects: BTreeMap<Option<GroupVersionResource>, Result<PolicyVariables, Status>> = BTreeMap::new();
        let mut said = Said::default();
        for bound in bound.iter() {
            let Some(found) = bound.policy.basis.matching.found_for_policy(review, namespace)? else { continue };
            if !bound.matching.matches(review, namespace)? {
                continue;
            }
            let subject = match subjects.entry(found.elsewhere()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let shown = Shown::of(review, found).await;
                    unknown.insert(shown.map(|shown| PolicyVariables::new(review, shown, namespace, &answers)))
                }
            };
            match subject {
                Ok(subject) => bound.judge(review, subject, &answers, &mut said).await?,
                Err(status) => bound.fail(review, &Misconfigured::OfBinding(status.message.clone()), &mut said),
            }
        }
        said.annotate(review);
        said.refusal.map_or(Ok(()), Err)
    }
}

/// All policies with their bindings, compiled.
fn bind(lists: &Lists) -> Vec<Bound> {
    let policies = lists.of(&resource(POLICIES)).map(|policy| Arc::new(Policy::read(&policy)));
    let policies: BTreeMap<String, Arc<Policy>> = policies.map(|policy| (policy.basis.name.clone(), policy)).collect();
    let bound = lists.of(&resource(BINDINGS)).filter_map(|binding| {
        let policy = policies.get(binding.text("spec.policyName"))?;
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

    /// Evaluates the policy for the request, and applies its actions.
    async fn judge(
        &self,
        review: &Review<'_>,
        subject: &PolicyVariables,
        answers: &Answers,
        said: &mut Said,
    ) -> Result<(), Status> {
        let found = match parameter_resource(review, &self.policy.basis) {
            Ok(kind) => find_parameters(review, kind.as_ref(), &self.parameters).await?,
            Err(why) => Err(why),
        };
        let parameters = match found {
            Ok(parameters) => parameters,
            Err(why) => {
                self.fail(review, &why, said);
                return Ok(());
            }
        };
        for parameter in &parameters {
            let here = |allowance: &Allowance| self.policy.check(subject, parameter, allowance);
            let copied = || {
                let (policy, subject, parameter) = (Arc::clone(&self.policy), subject.clone(), parameter.clone());
                move |allowance: &Allowance| policy.check(&subject, &parameter, allowance)
            };
            let outcome = answers.settled(review, here, copied).await?;
            for finding in &outcome.findings {
                self.act(review, finding, said);
            }
            for (key, value) in outcome.annotations {
                said.add_annotation(&self.policy.basis.name, &key, value);
            }
            for why in &outcome.failed_annotations {
                said.refuse(review, &format!("{} denied request: {why}", self.who()), "");
            }
        }
        Ok(())
    }

    /// Refuses because the policy is misconfigured, unless its failure policy is Ignore.
    fn fail(&self, review: &Review<'_>, why: &Misconfigured, said: &mut Said) {
        if self.policy.basis.fails_closed {
            said.refuse(review, &format!("{} denied request: {}", self.title(why), why.text()), "");
        }
    }

    fn who(&self) -> String {
        format!("ValidatingAdmissionPolicy '{}' with binding '{}'", self.policy.basis.name, self.binding)
    }

    /// The misconfigured object in the message.
    fn title(&self, why: &Misconfigured) -> String {
        match why {
            Misconfigured::OfPolicy(_) => format!("ValidatingAdmissionPolicy '{}'", self.policy.basis.name),
            Misconfigured::OfBinding(_) => self.who(),
        }
    }

    /// Applies the actions of the binding: deny, warn, audit.
    fn act(&self, review: &Review<'_>, finding: &Finding, said: &mut Said) {
        let who = self.who();
        for action in &self.actions {
            match action.as_str() {
                "Deny" => said.refuse(review, &format!("{who} denied request: {}", finding.message), &finding.reason),
                "Warn" => {
                    let warning = format!("Validation failed for {who}: {}", finding.message);
                    review.request.warnings.add(warning);
                }
                "Audit" => review.request.audit.annotate(FAILURE_ANNOTATION, self.failure(finding)),
                _ => {}
            }
        }
    }

    /// A finding in the audit log. In Kubernetes: `ValidationFailureValue`.
    fn failure(&self, finding: &Finding) -> String {
        let text = |text: &str| Value::from(text).to_string();
        format!(
            "[{{\"message\":{},\"policy\":{},\"binding\":{},\"expressionIndex\":{},\"validationActions\":{}}}]",
            text(&finding.message),
            text(&self.policy.basis.name),
            text(&self.binding),
            finding.index,
            Value::from(self.actions.clone())
        )
    }
}

const FAILURE_ANNOTATION: &str = "validation.policy.admission.k8s.io/validation_failure";
/// The maximum length of an audit annotation, in bytes.
const LONGEST_ANNOTATION: usize = 10 * 1024;

/// The results of all policies for a request.
#[derive(Default)]
struct Said {
    /// The first refusal, which the client gets.
    refusal: Option<Status>,
    /// The audit annotations, by policy and key.
    annotations: BTreeMap<String, Vec<String>>,
}

impl Said {
    fn refuse(&mut self, review: &Review<'_>, message: &str, reason: &str) {
        self.refusal.get_or_insert_with(|| refuse(review, message, reason));
    }

    /// Adds an annotation; equal values of several bindings are added once.
    fn add_annotation(&mut self, policy: &str, key: &str, mut value: String) {
        value.truncate(value.floor_char_boundary(LONGEST_ANNOTATION));
        let values = self.annotations.entry(format!("{policy}/{key}")).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    fn annotate(&self, review: &Review<'_>) {
        for (key, values) in &self.annotations {
            review.request.audit.annotate(key, values.join(", "));
        }
    }
}

/// The response to a refused request: the message of a 403, but the code of the policy's reason.
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
