//! `policy/v1`.

pub(crate) mod eviction;
pub(crate) mod pod_disruption_budget;
