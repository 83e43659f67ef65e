//! The state machine of a pod and its containers, without side effects.

pub(crate) mod behaviour;
pub(crate) mod container;
pub(crate) mod container_place;
pub(crate) mod container_runs;
pub(crate) mod image;
pub(crate) mod lifecycle;
pub(crate) mod out_of_memory;
pub(crate) mod pod_context;
pub(crate) mod power_cut;
pub(crate) mod probes;
pub(crate) mod refusal;
pub(crate) mod resize;
pub(crate) mod waiting_reason;
