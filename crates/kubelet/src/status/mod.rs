//! What a node reports about its pods: their status, events and log lines.

pub(crate) mod pod_events;
pub(crate) mod pod_status;
pub(crate) mod status_manager;
