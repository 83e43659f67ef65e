//! JSON and YAML text, read into a tree that keeps the order of fields and duplicate fields.
//!
//! ```text
//! JSON --json--+
//!              +--> Raw
//! YAML --yaml--+
//! ```
//! Not here: the types of values, which [`crate::decode`] checks.

pub(crate) mod json;
pub(crate) mod raw;
pub(crate) mod yaml;
pub(crate) mod yaml_twice;
