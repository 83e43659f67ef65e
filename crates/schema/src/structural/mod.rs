//! The schemas of custom resources: what they let in, fill in, prune and refuse.
//!
//! ```text
//! openAPIV3Schema --Structural::from_json--> Structural --kind_schema--> KindSchema (decoding, apply)
//!                        \--check--> errors of the definition     \--prune, default, validate--> object | errors
//! ```
//! Start at [`Structural`].
//! In Kubernetes: `apiextensions-apiserver/pkg/apiserver/{schema,validation}` and kube-openapi's validator.
//! Not here: rules in CEL (`registry` runs them), the definition's other fields.

mod check;
mod correlate;
mod default;
mod embedded;
mod format;
mod kind_schema;
mod list_type;
mod node;
mod pattern_error;
mod prune;
mod validate;

#[cfg(test)]
mod tests;

pub use node::{Constraints, Pattern, Rule, Structural, ValueType};
