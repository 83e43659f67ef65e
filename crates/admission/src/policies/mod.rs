//! The common parts of validating and mutating admission policies.
//!
//! ```text
//! policy --PolicyBasis--> matching, match conditions, variables        binding --Parameters--> parameter objects
//! request --PolicyVariables--> variables of its expressions, within a PolicyBudget
//! ```
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/generic` and `apiserver/pkg/admission/plugin/cel`.

mod basis;
mod budget;
mod parameters;
mod policy_variables;

pub(crate) use basis::{Environments, NamedExpression, PolicyBasis};
pub(crate) use budget::{PolicyBudget, out_of_budget};
pub(crate) use parameters::{Misconfigured, find_parameters, parameter_resource};
pub(crate) use policy_variables::PolicyVariables;
