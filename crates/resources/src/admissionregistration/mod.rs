//! `admissionregistration.k8s.io/v1`.

mod match_rules;
pub(crate) mod validating_admission_policy;
pub(crate) mod validating_admission_policy_binding;
mod webhook;
pub(crate) mod webhook_configuration;

const GROUP: &str = "admissionregistration.k8s.io";
