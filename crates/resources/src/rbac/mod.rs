//! `rbac.authorization.k8s.io/v1`. Not here: the escalation check (`auth`).

mod bindings;
pub(crate) mod cluster_role;
pub(crate) mod cluster_role_binding;
mod policy_rules;
pub(crate) mod role;
pub(crate) mod role_binding;

const GROUP: &str = "rbac.authorization.k8s.io";
