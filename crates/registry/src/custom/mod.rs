//! Custom resources: kinds that objects of the API define.
//!
//! ```text
//! CustomResourceDefinition --check--> stored --after--> names accepted, Established --CustomKind per version--> Kinds
//! custom resource --CustomKind: prune, default, validate, rules in CEL--> stored like any other object
//! ```
//! Start at [`definitions`], the strategy of CustomResourceDefinition, and at [`Registry::load_custom_kinds`], which
//! serves the stored definitions at start. [`Registry::follow_custom_kinds`] serves the definitions of other API
//! servers with the same store, and [`Registry::finish_custom_kinds`] removes terminating definitions.
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
