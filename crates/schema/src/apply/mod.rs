//! Server-side apply, and the ownership of fields.
//!
//! ```text
//! live + applied --validate--> merge --> prune what is no longer applied --> compare --> conflicts | object
//!                                                                   \--> field sets --> metadata.managedFields
//! live + new     ----------------------------------------------------compare--> field sets --> metadata.managedFields
//! ```
//! Start at [`managed_fields`]: [`managed_fields::apply`] for an apply, [`managed_fields::update`] for every other write.
//! Schemas are accessed through the trait [`Place`], versions of a kind through [`Versions`].
//! In Kubernetes: structured-merge-diff and `apimachinery/pkg/util/managedfields`.
//! Not here: decoding before and defaulting afterwards.

mod compare;
mod configuration;
mod conflict;
mod field_set;
pub mod fields_v1;
mod filter;
mod last_applied;
pub mod managed_fields;
mod managers;
mod merge;
mod path;
mod place;
mod reconcile;
mod remove;
pub mod scale;
mod set;
mod table_place;
mod typed;
mod unmoved;
mod updater;

pub use compare::{Comparison, compare};
pub use configuration::merge_configuration;
pub use conflict::Conflicts;
pub use field_set::field_set;
pub use filter::Filter;
pub use managed_fields::{ApplyError, Booking};
pub use managers::{ManagedFieldsOperation, Manager, Managers, Owned, decode, encode};
pub use merge::merge;
pub use path::{Path, PathElement, compare_values, path_text, values_equal};
pub use place::{ListForm, MapForm, Place, ScalarForm, ValueForm};
pub use remove::{extract, remove};
pub use set::Set;
pub use table_place::{OneVersion, TablePlace};
pub use updater::Versions;

#[cfg(test)]
mod tests;
