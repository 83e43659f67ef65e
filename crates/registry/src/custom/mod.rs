//! Custom resources: kinds that objects of the API define.
//!
//! ```text
//! CustomResourceDefinition --check--> stored --after--> names accepted, Established --CustomKind per version--> Kinds
//! custom resource --CustomKind: prune, default, validate, rules in CEL--> stored like any other object
//! ```
//! Start at [`definitions`], the strategy of the kind that defines kinds, and at [`Registry::load_custom_kinds`], which
//! serves the definitions that are stored already; [`Registry::follow_custom_kinds`] serves those that API servers beside
//! this one store, and
//! [`Registry::finish_custom_kinds`] lets terminating definitions go.
//! In Kubernetes: apiextensions-apiserver.

mod check;
mod columns;
mod conditions;
mod conversion_check;
mod custom_kind;
mod definition;
mod definitions;
mod deletion;
mod field_path;
mod follow;
mod former_version;
mod go_schema;
mod json_path;
mod names_acceptance;
mod names_check;
mod rule_check;
mod rule_cost;
mod rule_schema;
mod rules;
mod version_check;

pub use definitions::definitions;
