//! The status of an autoscaler as a pass writes it.

use coracle_ambient::Timestamp;
use coracle_api::autoscaling_v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus,
};
use coracle_meta::format_time;
use coracle_release::Release;

use crate::conditions::{put, remove};

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
    /// The generation that the pass saw, in a release that records it.
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    pub(super) fn new(autoscaler: &HorizontalPodAutoscaler, now: Timestamp, release: &Release) -> Self {
        let generation = || autoscaler.metadata.generation.unwrap_or(0);
        let generation = release.enabled("HPAGeneration").then(generation);
        Self { status: autoscaler.status.clone(), generation, now }
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
        self.status.observed_generation = self.generation;
    }

    /// Removes a condition.
    pub(super) fn unset(&mut self, type_: &str) {
        remove(&mut self.status.conditions, type_);
    }

    /// Records that the target was scaled now.
    pub(super) fn rescaled(&mut self) {
        self.status.last_scale_time = Some(format_time(self.now));
    }
}
