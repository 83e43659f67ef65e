//! Static cost estimation: the minimum and maximum cost of an expression.
//!
//! ```text
//! Tree + Typed + Schema --Estimate--> Range      sizes and paths in sizes.rs, what a call costs in calls.rs and library.rs
//! ```
//! Start at [`estimate`]. In Kubernetes: `cel-go/checker.Cost`, with `library.CostEstimator` and the estimators of
//! `ext`.

mod call;
mod calls;
mod cost;
mod library;
mod path;
mod range;
mod sizes;
#[cfg(test)]
mod tests;

pub(crate) use cost::estimate;
