//! Scaling to zero, and back.
//!
//! A target without replicas is scaled only if the autoscaler itself scaled it to zero, which a condition records. A
//! target that a user scaled to zero stays there.

use coracle_api::autoscaling_v2::HorizontalPodAutoscaler;

use super::bounds::Bounds;

/// Whether the autoscaler scaled its target to zero.
pub(super) const SCALED_TO_ZERO: &str = "ScaledToZero";

/// What counts for a target of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zero {
    /// Whether the autoscaler scaled the target to zero.
    scaled: bool,
    /// Whether it has a metric that exists without pods.
    measurable: bool,
}

/// The status, the reason and the message of the condition.
type Condition = (&'static str, &'static str, &'static str);

impl Zero {
    pub(super) fn of(autoscaler: &HorizontalPodAutoscaler) -> Self {
        let is_scaled = |one: &coracle_api::autoscaling_v2::HorizontalPodAutoscalerCondition| {
            one.type_ == SCALED_TO_ZERO && one.status == "True"
        };
        Self {
            scaled: autoscaler.status.conditions.iter().any(is_scaled),
            measurable: autoscaler.spec.metrics.iter().any(|one| matches!(one.type_.as_str(), "Object" | "External")),
        }
    }

    /// Whether the size of a target without replicas follows from the metrics. In Kubernetes:
    /// `shouldComputeMetricsForZeroReplicas`.
    pub(super) fn is_measured(self, min: i32) -> bool {
        self.scaled && (min != 0 || self.measurable)
    }

    /// The least size, if the minimum was raised while the target had no replicas, and the metrics ask for less.
    pub(super) fn raised(self, wanted: i32, bounds: &Bounds<'_>) -> Option<i32> {
        (bounds.current == 0 && bounds.min != 0 && self.scaled && wanted < bounds.min).then_some(bounds.min)
    }

    /// The condition after a target was scaled to this size.
    pub(super) fn after(self, wanted: i32, bounds: &Bounds<'_>) -> Condition {
        if bounds.current > 0 && wanted == 0 && bounds.min == 0 && self.measurable {
            ("True", "ScaledToZero", "the HPA controller scaled the workload to zero")
        } else {
            ("False", "NotScaledToZero", "the HPA controller did not scale the workload to zero")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;
    use jiff::SignedDuration;
    use serde_json::json;

    fn zero(metric: &str, scaled: &str) -> Zero {
        let autoscaler = json!({
            "spec": {"metrics": [{"type": metric}]},
            "status": {"conditions": [{"type": "ScaledToZero", "status": scaled}]},
        });
        Zero::of(&serde_json::from_value(autoscaler).unwrap())
    }

    fn bounds(min: i32, current: i32) -> Bounds<'static> {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        Bounds { min, max: 9, current, behavior: None, stabilization: SignedDuration::ZERO, now }
    }

    #[test]
    fn a_target_of_zero_is_measured_only_if_the_autoscaler_made_it_zero() {
        assert!(zero("External", "True").is_measured(0));
        assert!(!zero("External", "False").is_measured(0), "a user did it");
        assert!(!zero("Resource", "True").is_measured(0), "there are no pods to measure");
        assert!(zero("Resource", "True").is_measured(2), "the minimum was raised");
        assert!(!zero("External", "False").is_measured(2));
    }

    #[test]
    fn a_minimum_that_was_raised_at_zero_holds() {
        assert_eq!(zero("External", "True").raised(1, &bounds(2, 0)), Some(2));
        assert_eq!(zero("External", "True").raised(3, &bounds(2, 0)), None);
        assert_eq!(zero("External", "False").raised(0, &bounds(2, 0)), None);
    }

    #[test]
    fn only_a_scaling_to_zero_with_a_metric_that_exists_without_pods_is_recorded_as_one() {
        assert_eq!(zero("Object", "False").after(0, &bounds(0, 3)).0, "True");
        assert_eq!(zero("Object", "True").after(2, &bounds(0, 0)).0, "False");
        assert_eq!(zero("Resource", "False").after(0, &bounds(0, 3)).1, "NotScaledToZero");
    }
}
