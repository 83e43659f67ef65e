//! `autoscaling/v1` and `autoscaling/v2`: stored as v2.

mod conversion;
pub(crate) mod horizontal_pod_autoscaler;
mod reference;
mod scaling_rules;
