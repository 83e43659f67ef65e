//! The operations on volumes: what they do, when they are retried, and their results.

pub(crate) mod backoff;
pub(crate) mod executor;
pub(crate) mod expansion;
pub(crate) mod operation_results;
pub(crate) mod operations;
pub(crate) mod outcome;
