use std::sync::Arc;

use coracle_expression::Allowance;
use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status};
use coracle_registry::Review;
use serde_json::Value;

use super::NAME;
use super::policy::{ComputedPatch, MutatingPolicy};
use super::policy_errors::PolicyErrors;
use super::versioned_object::{MutationFailure, VersionedObject};
use crate::authorization::Answers;
use crate::matching::RuleMatch;
use crate::policies::PolicyVariables;
use crate::shown::Shown;

/// A policy for a request, with one binding and one parameter object. In Kubernetes: `PolicyInvocation`.
pub(super) struct PolicyRun {
    pub(super) policy: Arc<MutatingPolicy>,
    pub(super) binding: Arc<str>,
    pub(super) found: RuleMatch,
    /// The parameter object, or null.
    pub(super) parameters: Arc<Value>,
}

/// What an evaluation needs: the policy, the variables and the parameters.
type Copies = (Arc<MutatingPolicy>, PolicyVariables, Arc<Value>);

impl PolicyRun {
    /// The name of the run in both rounds. In Kubernetes: `keyFor`.
    fn id(&self) -> String {
        let (namespace, name) = (self.parameters.text("metadata.namespace"), self.parameters.text("metadata.name"));
        format!("{}/{}/{namespace}/{name}", self.policy.basis.name, self.binding)
    }

    /// Changes the object of the request; returns whether a mutation was applied, even if it changed nothing.
    ///
    /// # Errors
    /// If the result of a mutation is no object of the kind, whatever the policy's failure policy.
    pub(super) async fn perform(
        &self,
        review: &mut Review<'_>,
        namespace: Option<&Object>,
        answers: &Arc<Answers>,
        errors: &mut PolicyErrors,
    ) -> Result<bool, Status> {
        let basis = &self.policy.basis;
        let shown = Shown::of(review, self.found.clone()).await?;
        let mut object = VersionedObject::new(review, &shown);
        let mut subject = PolicyVariables::new(review, shown, namespace, answers);
        match self.meets_conditions(review, &subject, answers).await? {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                errors.failed(basis, &self.binding, &why);
                return Ok(false);
            }
        }
        let id = self.id();
        if review.reinvocation.is_second_round() && !review.reinvocation.is_due(NAME, &id) {
            return Ok(false);
        }
        let mut has_patched = false;
        let mutations = if object.is_there() { 0..self.policy.len() } else { 0..0 };
        for mutation in mutations {
            let patch = self.evaluate(review, mutation, &subject, answers).await?;
            let patched = patch.map_err(MutationFailure::OfPolicy).and_then(|patch| object.patch(review, patch));
            match patched {
                Ok(has_changed) => {
                    has_patched = true;
                    if has_changed {
                        subject.set_object(object.value().clone());
                    }
                }
                Err(MutationFailure::OfPolicy(why)) => errors.failed(basis, &self.binding, &why),
                Err(MutationFailure::OfResult(why)) => return Err(Status::internal(why)),
            }
        }
        if let Some(changed) = object.into_changed(review).await? {
            if let Some(object) = review.object_mut() {
                *object = changed;
            }
            review.reinvocation.object_has_changed(NAME);
        }
        if self.policy.is_reinvoked {
            review.reinvocation.add_eligible(NAME, &id);
        }
        Ok(has_patched)
    }

    /// Copies for an evaluation that may run elsewhere.
    fn copied(&self, subject: &PolicyVariables) -> Copies {
        (Arc::clone(&self.policy), subject.clone(), Arc::clone(&self.parameters))
    }

    async fn meets_conditions(
        &self,
        review: &Review<'_>,
        subject: &PolicyVariables,
        answers: &Arc<Answers>,
    ) -> Result<Result<bool, String>, Status> {
        let here = |allowance: &Allowance| self.policy.basis.meets_conditions(subject, &self.parameters, allowance);
        let copied = || {
            let (policy, subject, parameters) = self.copied(subject);
            move |allowance: &Allowance| policy.basis.meets_conditions(&subject, &parameters, allowance)
        };
        answers.settled(review, here, copied).await
    }

    async fn evaluate(
        &self,
        review: &Review<'_>,
        mutation: usize,
        subject: &PolicyVariables,
        answers: &Arc<Answers>,
    ) -> Result<Result<ComputedPatch, String>, Status> {
        let here = |allowance: &Allowance| self.policy.evaluate(mutation, subject, &self.parameters, allowance);
        let copied = || {
            let (policy, subject, parameters) = self.copied(subject);
            move |allowance: &Allowance| policy.evaluate(mutation, &subject, &parameters, allowance)
        };
        answers.settled(review, here, copied).await
    }
}
