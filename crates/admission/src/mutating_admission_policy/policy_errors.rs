use coracle_meta::{Status, StatusCause, go_quote};
use coracle_registry::Review;

use crate::policies::{Misconfigured, PolicyBasis};
use crate::refusal::forbidden;

/// The errors of policies that refuse the request, in order. In Kubernetes: `[]generic.PolicyError`.
#[derive(Debug, Default)]
pub(super) struct PolicyErrors {
    found: Vec<PolicyError>,
}

#[derive(Debug)]
struct PolicyError {
    message: String,
    reason: &'static str,
}

impl PolicyErrors {
    /// A policy or a binding that cannot be evaluated; ignored if the policy says so.
    pub(super) fn misconfigured(&mut self, policy: &PolicyBasis, binding: Option<&str>, why: &Misconfigured) {
        self.add(policy, binding, &why.text(), "Forbidden");
    }

    /// A condition or a mutation that failed; ignored if the policy says so.
    pub(super) fn failed(&mut self, policy: &PolicyBasis, binding: &str, why: &str) {
        self.add(policy, Some(binding), why, "Invalid");
    }

    fn add(&mut self, policy: &PolicyBasis, binding: Option<&str>, why: &str, reason: &'static str) {
        if policy.fails_closed {
            let name = &policy.name;
            let message = match binding {
                Some(binding) => format!("policy '{name}' with binding '{binding}' denied request: {why}"),
                None => format!("policy {} denied request: {why}", go_quote(name)),
            };
            self.found.push(PolicyError { message, reason });
        }
    }

    /// The response, with the message and the reason of the first error; `None` without errors.
    pub(super) fn into_status(self, review: &Review<'_>) -> Option<Status> {
        let first = self.found.first()?;
        let mut status = forbidden(review, "");
        first.message.clone_into(&mut status.message);
        first.reason.clone_into(&mut status.reason);
        if let Some(details) = &mut status.details {
            let causes = self.found.into_iter().map(|error| error.message);
            details.causes.extend(causes.map(|message| StatusCause { message, ..StatusCause::default() }));
        }
        Some(status)
    }
}
