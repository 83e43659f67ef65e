//! A write is a value: each verb plans in pure functions, and one loop applies the plan.
//!
//! ```text
//!         wanted         mutating plug-ins  complete, reserve  plan         validating plug-ins
//! Intent --------> Object ----------------> Object ----------> Object ----> Plan ----------> store (or pretend)
//!    ^  create, update, patch, scale                      delete, modify ----^                 | conflict:
//!    \-----------------------------------------------------------------------------------------/ read, retry
//! ```
//! Start at [`Plan`], then `commit.rs`; `delete.rs` is the shortest verb. Adding a way to write is one [`Intent`].
//! In Kubernetes: `registry/generic/registry/store.go` and `endpoints/handlers`.

mod action;
mod collection;
mod commit;
mod create;
mod delete;
mod generation;
mod intent;
mod modify;
mod ownership;
mod patch;
mod plan;
mod prepared;
mod projection;
mod update;

pub use delete::Deleted;
pub use plan::Plan;
pub use prepared::SystemFields;
pub use update::Written;
