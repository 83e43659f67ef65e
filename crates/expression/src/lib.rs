//! CEL, the expression language of Kubernetes, with type checking, its libraries and a cost budget.
//!
//! ```text
//! text --syntax--> tree --check(Environment)--> types --plan--> Expression      Report: cel-go's words, line, caret
//! Expression + Variables (JSON, borrowed) --machine, metered--> value | Error, and what it cost
//! ```
//! Start at [`Expression`]. [`Schema`] describes values from outside, [`Environment`] lists the variables. In
//! Kubernetes: `cel-go`, and `apiserver/pkg/cel` with its environment of libraries.
//!
//! Everything is limited: the length of texts, nesting and the size of trees before they are processed; an evaluation
//! by Kubernetes' cost units, and by steps and bytes, because costs do not cover all work.
//!
//! Unlike Kubernetes: no protobuf messages (`google.protobuf.Int32Value{}` is undeclared); trees deeper than 200 are
//! rejected, where Kubernetes limits only brackets; patterns are those of the `regex` crate, which supports all of
//! Go's syntax. Not here: the variables of an expression; the caller defines them.

mod admission;
mod allowance;
mod authorizer;
mod check;
mod device;
mod environment;
mod escape;
mod estimate;
mod evaluate;
mod expression;
mod fault;
mod library;
mod meter;
mod parts;
mod patch;
mod schema;
mod session;
mod source;
mod syntax;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod variables;

pub use admission::{admission_environment, namespace_schema, request_schema, with_computed, with_one_more_computed};
pub use allowance::Allowance;
pub use authorizer::{Authorizer, AuthorizerAttributes, AuthorizerDecision};
pub use device::{Attribute, Device, device_environment, device_schema};
pub use environment::Environment;
pub use escape::escaped;
pub use expression::{Error, EvaluationResult, Expression};
pub use meter::{COST_OF_MATCH_CONDITIONS, COST_OF_ONE_EXPRESSION, COST_OF_ONE_OBJECT};
pub use schema::{Object, Order, Schema, SchemaField, Shape};
pub use session::Session;
pub use source::{Issue, Report};
pub use types::Type;
pub use variables::{Prepared, Variables};
