//! The admission plug-ins, which can change or refuse a write after its authorization, one file each.
//!
//! ```text
//! registry --Review--> plug-ins in order: mutate … --prepare--> plug-ins in order: validate … --> stored
//! ```
//! Start at [`plugins`], the one list, in the order of kube-apiserver.
//! Not here: RBAC's escalation check (`auth`), the validation of kinds (`resources`).

mod authorization;
mod configurations;
mod lookup;
mod matching;
mod mountable_secrets;
mod plugins;
mod policies;
mod refusal;
mod request_view;
mod shown;
mod tolerations;

mod always;
mod always_pull_images;
mod certificates;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_service_external_ips;
mod extended_resource_toleration;
mod limit_pod_hard_anti_affinity_topology;
mod limit_ranger;
mod mutating_admission_policy;
mod namespace_auto_provision;
mod namespace_exists;
mod namespace_lifecycle;
mod node_declared_features;
mod node_restriction;
mod owner_references_permission_enforcement;
mod persistent_volume_claim_resize;
mod pod_node_selector;
mod pod_resize;
mod pod_security;
mod pod_toleration_restriction;
mod pod_topology_labels;
mod priority;
mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod unreadable;
mod validating_admission_policy;
mod webhooks;

pub use configurations::Configurations;
pub use default_toleration_seconds::DefaultTolerationSeconds;
pub use plugins::{PluginError, plugins};
