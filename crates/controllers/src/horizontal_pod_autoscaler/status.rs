//! The status of an autoscaler as a pass writes it.

use coracle_ambient::Timestamp;
use coracle_api::autoscaling_v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus,
};
use coracle_meta::format_time;

use crate::conditions::put;

/// Whether the scale of the target can be read and written.
pub(super) const ABLE: &str = "AbleToScale";
/// Whether there is a number to scale to.
pub(super) const ACTIVE: &str = "ScalingActive";
/// Whether the wanted size was limited.
pub(super) const LIMITED: &str = "ScalingLimited";

/// The status so far.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) status: HorizontalPodAutoscalerStatus,
    now: Timestamp,
}

impl Draft {
    pub(super) fn new(autoscaler: &HorizontalPodAutoscaler, now: Timestamp) -> Self {
        Self { status: autoscaler.status.clone(), now }
    }

    /// Sets a condition in place.
    pub(super) fn set(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let condition = HorizontalPodAutoscalerCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: Some(format_time(self.now)),
            ..HorizontalPodAutoscalerCondition::default()
        };
        put(&mut self.status.conditions, condition);
    }

    /// The number of replicas when the metrics were read, and the desired number if it is known.
    pub(super) fn sized(&mut self, current: i32, desired: Option<i32>) {
        self.status.current_replicas = current;
        if let Some(desired) = desired {
            self.status.desired_replicas = desired;
        }
        // Kubernetes does not set it either.
        self.status.observed_generation = None;
    }

    /// Records that the target was scaled now.
    pub(super) fn rescaled(&mut self) {
        self.status.last_scale_time = Some(format_time(self.now));
    }
}
