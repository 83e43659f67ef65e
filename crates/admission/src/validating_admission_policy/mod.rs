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
use coracle_meta::{GroupVersion, GroupVersionResource, LabelSelector, Object, Status, StatusCause};
use coracle_registry::{Admission, Derived, ListOptions, Lists, Review, Stored, Verb};
use serde_json::Value;

use crate::authorization::Answers;
use crate::lookup;
use crate::matching::Matching;
use crate::refusal::forbidden;
use crate::request_view::{is_exempt, is_review, namespace_of};
use crate::shown::Shown;
use crate::unreadable::Configured;
use policy::{Finding, Policy, PolicyVariables};

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
        if is_exempt(resource) || is_review(resource) {
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
            let Some(found) = bound.policy.matching.found_for_policy(review, namespace)? else { continue };
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
    let policies: BTreeMap<String, Arc<Policy>> = policies.map(|policy| (policy.name.clone(), policy)).collect();
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
        let parameters = match self.find_parameters(review).await? {
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
                said.add_annotation(&self.policy.name, &key, value);
            }
            for why in &outcome.failed_annotations {
                said.refuse(review, &format!("{} denied request: {why}", self.who()), "");
            }
        }
        Ok(())
    }

    /// Refuses because the policy is misconfigured, unless its failure policy is Ignore.
    fn fail(&self, review: &Review<'_>, why: &Misconfigured, said: &mut Said) {
        if self.policy.fails_closed {
            said.refuse(review, &format!("{} denied request: {}", self.title(why), why.text()), "");
        }
    }

    fn who(&self) -> String {
        format!("ValidatingAdmissionPolicy '{}' with binding '{}'", self.policy.name, self.binding)
    }

    /// The misconfigured object in the message.
    fn title(&self, why: &Misconfigured) -> String {
        match why {
            Misconfigured::OfPolicy(_) => format!("ValidatingAdmissionPolicy '{}'", self.policy.name),
            Misconfigured::OfBinding(_) => self.who(),
        }
    }

    /// The parameter objects of the binding, or null without parameters.
    /// In Kubernetes: `generic.CollectParams`.
    async fn find_parameters(&self, review: &Review<'_>) -> Result<Result<Vec<Value>, Misconfigured>, Status> {
        if !self.policy.has_parameters() {
            return Ok(Ok(vec![Value::Null]));
        }
        let (api_version, kind) = (self.policy.parameter_version.as_str(), self.policy.parameter_kind.as_str());
        let known = GroupVersion::parse(api_version).and_then(|version| {
            let kinds = review.registry.kinds();
            kinds.kind(&version.kind(kind)).map(|kind| (kind.gvr(), kind.is_namespaced()))
        });
        let Some((resource, is_namespaced)) = known else {
            let why = format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'");
            return Ok(Err(Misconfigured::OfPolicy(why)));
        };
        if self.parameters.is_null() {
            return Ok(Ok(vec![Value::Null]));
        }
        let of_binding = |why: &str| Ok(Err(Misconfigured::OfBinding(why.to_owned())));
        let namespace = match (is_namespaced, self.parameters.text("namespace")) {
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
        let found: Vec<Value> = match self.parameters.text("name") {
            "" => {
                let selector = LabelSelector::from_json(Some(self.parameters.at("selector")));
                let label_selector = selector.unwrap_or_else(|_| LabelSelector::nothing());
                let request = lookup::own(review.request.about(Verb::List, resource, namespace, ""));
                let options = ListOptions { label_selector, ..ListOptions::default() };
                let list = review.registry.list(&request, &options).await?;
                list.items.iter().map(|stored| Stored::object(stored).to_value()).collect()
            }
            name => {
                let found = lookup::get(review, resource, namespace, name).await?;
                found.iter().map(|object| object.to_value()).collect()
            }
        };
        if found.is_empty() && self.parameters.text("parameterNotFoundAction") == "Deny" {
            return of_binding("no params found for policy binding with `Deny` parameterNotFoundAction");
        }
        Ok(Ok(found))
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
            text(&self.policy.name),
            text(&self.binding),
            finding.index,
            Value::from(self.actions.clone())
        )
    }
}

/// Why a policy cannot be evaluated, and which object is the cause.
enum Misconfigured {
    OfPolicy(String),
    OfBinding(String),
}

impl Misconfigured {
    fn text(&self) -> String {
        match self {
            Self::OfPolicy(why) => format!("failed to configure policy: {why}"),
            Self::OfBinding(why) => format!("failed to configure binding: {why}"),
        }
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
