//! Evaluates expressions.
//!
//! ```text
//! Tree + Typed --plan: constants folded, names to places--> Node --Machine, metered--> Value | Fault
//! ```
//! Start at [`plan`] and [`Machine`]. In Kubernetes: `cel-go/interpreter`. Every step is charged what cel-go's
//! `CostTracker` charges.

mod attribute;
mod machine;
mod node;
mod planner;
mod price;

pub(crate) use machine::{Evaluated, Machine, VariableSource};
pub(crate) use node::PlanNode;
pub(crate) use planner::plan;
