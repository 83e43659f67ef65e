//! Structural schemas of custom resources: defaulting, pruning and validation.
//!
//! ```text
//! openAPIV3Schema --Structural::from_json--> Structural --kind_schema--> KindSchema (decoding, apply)
//! openAPIV3Schema --SchemaErrors::of--> errors of the definition
//!                                             Structural --prune, default, validate--> object | errors
//! ```
//! Start at [`Structural`].
//! In Kubernetes: `apiextensions-apiserver/pkg/apiserver/{schema,validation}` and kube-openapi's validator.
//! Not here: rules in CEL (`registry` runs them), other fields of the definition.

mod check;
mod completeness;
mod correlate;
mod default;
mod embedded;
mod enumeration;
mod format;
mod go_pattern;
mod keywords;
mod list_type;
mod node;
mod path;
mod pattern;
mod pattern_program;
mod prune;
mod raw_schema;
mod validate;

#[cfg(test)]
mod tests;

pub use check::SchemaErrors;
pub use correlate::ItemsBefore;
pub use enumeration::Enumeration;
pub use format::unrecognized_formats;
pub(crate) use node::Additional;
pub use node::{Constraints, Rule, Structural, ValueType};
pub use path::path_below;
pub use pattern::Pattern;
