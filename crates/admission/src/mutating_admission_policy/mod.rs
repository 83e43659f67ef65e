//! `MutatingAdmissionPolicy`: changes writes with CEL expressions in API objects.
//!
//! ```text
//! policies + bindings (read again when they change) --matching--> PolicyRun (policy, binding, parameters), in order:
//!   conditions --> for each mutation: MutatingPolicy --ComputedPatch--> VersionedObject --> review
//! a run is repeated in the second round if its policy says IfNeeded and the object has changed
//! ```
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/mutating`.
//! Unlike Kubernetes: a policy takes effect with the next request; policies run in the order of their names; a mutation
//! in another version of the object is kept when the next policy uses a third version.

mod policy;
mod policy_errors;
mod policy_run;
mod versioned_object;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Admission, Derived, Lists, Operation, Review};
use serde_json::Value;

use crate::authorization::Answers;
use crate::matching::Matching;
use crate::policies::{Misconfigured, find_parameters, parameter_resource};
use crate::request_view::{is_policy, is_review, namespace_of};
use crate::unreadable::Configured;
use policy::MutatingPolicy;
use policy_errors::PolicyErrors;
use policy_run::PolicyRun;

/// The name of the plug-in.
const NAME: &str = "MutatingAdmissionPolicy";

/// The plug-in, with its policies.
pub(crate) struct MutatingAdmissionPolicy {
    hooks: Derived<Configured<Hook>>,
}

/// A policy with its bindings.
struct Hook {
    policy: Arc<MutatingPolicy>,
    bindings: Vec<Binding>,
}

struct Binding {
    name: Arc<str>,
    matching: Matching,
    /// `spec.paramRef`; null if it is missing.
    parameters: Value,
}

const POLICIES: &str = "mutatingadmissionpolicies";
const BINDINGS: &str = "mutatingadmissionpolicybindings";

fn resource(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural)
}

impl Default for MutatingAdmissionPolicy {
    fn default() -> Self {
        let reads = |_: &Lists| vec![resource(POLICIES), resource(BINDINGS)];
        let read = |lists: &Lists, _: &Configured<Hook>| {
            Configured::new(hooks(lists), lists, &[resource(POLICIES), resource(BINDINGS)])
        };
        Self { hooks: Derived::new(reads, read) }
    }
}

/// All policies that have bindings, compiled.
fn hooks(lists: &Lists) -> Vec<Hook> {
    let mut bindings: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
    for binding in lists.of(&resource(BINDINGS)) {
        bindings.entry(binding.text("spec.policyName").to_owned()).or_default().push(Binding::read(&binding));
    }
    let policies = lists.of(&resource(POLICIES));
    let bound = policies.filter_map(|policy| {
        let bindings = bindings.remove(policy.name())?;
        Some(Hook { policy: Arc::new(MutatingPolicy::read(&policy)), bindings })
    });
    bound.collect()
}

impl Binding {
    fn read(binding: &Object) -> Self {
        Self {
            name: binding.name().into(),
            matching: Matching::read(binding.at("spec.matchResources")),
            parameters: binding.at("spec.paramRef").clone(),
        }
    }
}

#[async_trait]
impl Admission for MutatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Delete
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let resource = &review.request.at.resource;
        if is_policy(resource) || is_review(resource) {
            return Ok(());
        }
        let hooks = self.hooks.current(review.registry).await?;
        hooks.check(review)?;
        if hooks.read.is_empty() {
            return Ok(());
        }
        let namespace = namespace_of(review).await?;
        let mut errors = PolicyErrors::default();
        let mut runs = Vec::new();
        for hook in &hooks.read {
            runs.extend(hook.runs(review, namespace.as_deref(), &mut errors).await?);
        }
        if !runs.is_empty() {
            run(review, &runs, namespace.as_deref(), &mut errors).await?;
        }
        errors.into_status(review).map_or(Ok(()), Err)
    }
}

impl Hook {
    /// The runs of the policy for a request: one for each binding that matches, and each of its parameters.
    /// In Kubernetes: `policyDispatcher.Dispatch`.
    async fn runs(
        &self,
        review: &Review<'_>,
        namespace: Option<&Object>,
        errors: &mut PolicyErrors,
    ) -> Result<Vec<PolicyRun>, Status> {
        let mut runs = Vec::new();
        let basis = &self.policy.basis;
        let found = match basis.matching.found_for_policy(review, namespace) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(runs),
            Err(status) => {
                errors.misconfigured(basis, None, &Misconfigured::OfPolicy(status.message));
                return Ok(runs);
            }
        };
        let kind = match parameter_resource(review, basis) {
            Ok(kind) => kind,
            Err(why) => {
                errors.misconfigured(basis, None, &why);
                return Ok(runs);
            }
        };
        for binding in &self.bindings {
            match binding.matching.matches(review, namespace) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(status) => {
                    errors.misconfigured(basis, Some(&binding.name), &Misconfigured::OfBinding(status.message));
                    continue;
                }
            }
            match find_parameters(review, kind.as_ref(), &binding.parameters).await? {
                Ok(parameters) => runs.extend(parameters.into_iter().map(|parameters| PolicyRun {
                    policy: Arc::clone(&self.policy),
                    binding: Arc::clone(&binding.name),
                    found: found.clone(),
                    parameters: Arc::new(parameters),
                })),
                Err(why) => errors.misconfigured(basis, Some(&binding.name), &why),
            }
        }
        Ok(runs)
    }
}

/// Performs the runs in order, each on the object as the ones before have left it.
/// In Kubernetes: `dispatcher.dispatchInvocations`.
async fn run(
    review: &mut Review<'_>,
    runs: &[PolicyRun],
    namespace: Option<&Object>,
    errors: &mut PolicyErrors,
) -> Result<(), Status> {
    review.begin_turn(NAME);
    let answers = Arc::new(Answers::default());
    let mut has_patched = false;
    for one in runs {
        has_patched |= one.perform(review, namespace, &answers, errors).await?;
    }
    if has_patched {
        review.reinvocation.object_has_changed(NAME);
    }
    review.end_turn(NAME);
    Ok(())
}
