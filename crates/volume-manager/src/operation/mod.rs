//! The operations on volumes: what they do, and when they are retried.

pub(crate) mod backoff;
pub(crate) mod executor;
pub(crate) mod expansion;
pub(crate) mod operations;
pub(crate) mod outcome;
