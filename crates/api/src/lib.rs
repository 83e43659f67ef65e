//! The built-in kinds that our components use, as Rust types.
