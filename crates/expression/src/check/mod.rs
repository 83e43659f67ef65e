//! Which type every part of an expression has.
//!
//! ```text
//! Tree + Environment --Checker--> Typed { type of each expression, overloads of each call } | Report
//! ```
//! Start at [`check`]. In Kubernetes: `cel-go/checker`, with its words for what is wrong.

mod checker;
mod expression;
mod formats;
mod literals;
mod signatures;
mod substitution;
mod typed;

pub(crate) use checker::check;
pub(crate) use typed::Typed;
