//! What Stages compute from an object: queries, templates, selectors and delays.

pub(crate) mod delay;
pub(crate) mod functions;
pub(crate) mod query;
pub(crate) mod selector;
pub(crate) mod value_from;
