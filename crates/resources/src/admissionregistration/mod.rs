//! `admissionregistration.k8s.io/v1`.

mod binding_parts;
mod expressions;
mod match_rules;
pub(crate) mod mutating_admission_policy;
pub(crate) mod mutating_admission_policy_binding;
pub(crate) mod mutating_webhook_configuration;
mod policy_parts;
mod reserved_names;
mod unseen_resources;
pub(crate) mod validating_admission_policy;
pub(crate) mod validating_admission_policy_binding;
pub(crate) mod validating_webhook_configuration;
mod webhook;

const GROUP: &str = "admissionregistration.k8s.io";
