//! The type checker.
//!
//! ```text
//! Tree + Environment --Checker--> Typed { type of each expression, overloads of each call } | Report
//! ```
//! Start at [`check`]. In Kubernetes: `cel-go/checker`, with its error messages.

mod checker;
mod expression;
mod formats;
mod literals;
mod message;
mod message_types;
mod signatures;
mod substitution;
mod typed;

pub(crate) use checker::check;
pub(crate) use typed::Typed;
