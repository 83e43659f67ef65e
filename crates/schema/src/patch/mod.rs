//! The three patches that change an object: JSON patch, JSON merge patch, strategic merge patch.
//!
//! ```text
//! document + patch --JsonPatch::apply | merge_patch | strategic_merge_patch--> patched document | Error --> Status
//! ```
//! All are functions from JSON values to JSON values. Server-side apply, the fourth, is in [`crate::apply`].
//! Not here: decoding the result, and reporting unknown fields.

mod document_text;
mod error;
mod json_merge;
mod json_patch;
mod strategic;
mod untouched;

pub use crate::go_text::{go_text, go_type};
pub use document_text::{Touched, document_text};
pub use error::Error;
pub use json_merge::merge_patch;
pub use json_patch::JsonPatch;
pub use strategic::strategic_merge_patch;
pub use untouched::{Divided, put_back};

#[cfg(test)]
mod tests;
