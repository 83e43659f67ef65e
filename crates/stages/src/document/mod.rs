//! The strict reader of YAML documents and objects.

pub(crate) mod read;
pub(crate) mod refusal;
pub(crate) mod tree;
pub(crate) mod yaml;
