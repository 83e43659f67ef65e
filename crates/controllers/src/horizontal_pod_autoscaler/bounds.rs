//! Limits the rate and the range of a change of replicas: arithmetic over past recommendations and scalings.
//!
//! In Kubernetes: `normalizeDesiredReplicas` and `normalizeDesiredReplicasWithBehaviors`.

use coracle_ambient::Timestamp;
use coracle_api::autoscaling_v2::{HPAScalingRules, HorizontalPodAutoscalerBehavior};
use jiff::SignedDuration;

/// What is remembered about one autoscaler.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    recommendations: Vec<(i32, Timestamp)>,
    ups: Vec<(i32, Timestamp)>,
    downs: Vec<(i32, Timestamp)>,
}

/// The limits: bounds and rules of an autoscaler, and the size of its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds<'a> {
    pub(super) min: i32,
    pub(super) max: i32,
    pub(super) current: i32,
    pub(super) behavior: Option<&'a HorizontalPodAutoscalerBehavior>,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`
    pub(super) stabilization: SignedDuration,
    pub(super) now: Timestamp,
}

/// A reason and its message.
pub(super) type Why = (&'static str, &'static str);

/// A size within the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounded {
    pub(super) replicas: i32,
    /// The condition `AbleToScale`.
    pub(super) able: Why,
    /// Whether the wanted size was limited, and the condition `ScalingLimited`.
    pub(super) limited: bool,
    pub(super) limit: Why,
}

const READY: Why = ("ReadyForNewScale", "recommended size matches current size");
const DOWN_STABILIZED: Why = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const UP_STABILIZED: Why = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const WITHIN: Why = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FEW: Why = ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const TOO_MANY: Why = ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const UP_LIMIT: Why = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const DOWN_LIMIT: Why =
    ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");

/// Without rules, scaling up stops at this many replicas, or at twice the current size. In Kubernetes:
/// `scaleUpLimitMinimum`.
const FIRST_STEP: i32 = 4;

impl Memory {
    /// Records the target's size when the autoscaler was first seen.
    pub(super) fn begin(&mut self, current: i32, now: Timestamp) {
        if self.recommendations.is_empty() {
            self.recommendations.push((current, now));
        }
    }

    /// The allowed size for a recommendation, which is recorded.
    pub(super) fn bound(&mut self, wanted: i32, bounds: &Bounds<'_>) -> Bounded {
        let rules = bounds.behavior.and_then(|both| Some((both.scale_up.as_deref()?, both.scale_down.as_deref()?)));
        let (stabilized, why) = match rules {
            None => (self.highest(wanted, bounds), DOWN_STABILIZED),
            Some((up, down)) => self.stabilized(wanted, bounds, up, down),
        };
        let (replicas, limit) = match rules {
            None => within(stabilized, bounds),
            Some((up, down)) => self.within_rates(stabilized, bounds, up, down),
        };
        let able = if stabilized == wanted { READY } else { why };
        Bounded { replicas, able, limited: replicas != stabilized, limit }
    }

    /// Records that a target was scaled, for as long as a rule needs it.
    pub(super) fn scaled(&mut self, to: i32, bounds: &Bounds<'_>) {
        let Some(behavior) = bounds.behavior else { return };
        let (changes, rules) = if to > bounds.current {
            (&mut self.ups, &behavior.scale_up)
        } else {
            (&mut self.downs, &behavior.scale_down)
        };
        let policies = rules.as_deref().map(|rules| rules.policies.as_slice()).unwrap_or_default();
        let longest = policies.iter().map(|policy| policy.period_seconds).max().unwrap_or(0);
        changes.retain(|(_, at)| is_within(*at, longest, bounds.now));
        let change = i32::try_from(to.abs_diff(bounds.current)).unwrap_or(i32::MAX);
        changes.push((change, bounds.now));
    }

    /// The highest of the recent recommendations.
    fn highest(&mut self, wanted: i32, bounds: &Bounds<'_>) -> i32 {
        self.recommendations.retain(|(_, at)| bounds.now.duration_since(*at) <= bounds.stabilization);
        let highest = self.recommendations.iter().map(|(recommended, _)| *recommended).fold(wanted, i32::max);
        self.recommendations.push((wanted, bounds.now));
        highest
    }

    /// The current size, changed as little as all recent recommendations allow.
    fn stabilized(
        &mut self,
        wanted: i32,
        bounds: &Bounds<'_>,
        up: &HPAScalingRules,
        down: &HPAScalingRules,
    ) -> (i32, Why) {
        let default = i32::try_from(bounds.stabilization.as_secs()).unwrap_or(i32::MAX);
        let up_window = up.stabilization_window_seconds.unwrap_or(0);
        let down_window = down.stabilization_window_seconds.unwrap_or(default);
        let (mut lowest, mut highest) = (wanted, wanted);
        for (recommended, at) in &self.recommendations {
            if is_within(*at, up_window, bounds.now) {
                lowest = lowest.min(*recommended);
            }
            if is_within(*at, down_window, bounds.now) {
                highest = highest.max(*recommended);
            }
        }
        let longest = up_window.max(down_window);
        self.recommendations.retain(|(_, at)| is_within(*at, longest, bounds.now));
        self.recommendations.push((wanted, bounds.now));
        let why = if wanted >= bounds.current { UP_STABILIZED } else { DOWN_STABILIZED };
        (bounds.current.max(lowest).min(highest), why)
    }

    /// In Kubernetes: `convertDesiredReplicasWithBehaviorRate`.
    fn within_rates(
        &self,
        wanted: i32,
        bounds: &Bounds<'_>,
        up: &HPAScalingRules,
        down: &HPAScalingRules,
    ) -> (i32, Why) {
        if wanted > bounds.current {
            let limit = self.limit(bounds, up, true).max(bounds.current);
            let (most, why) = if bounds.max > limit { (limit, UP_LIMIT) } else { (bounds.max, TOO_MANY) };
            if wanted > most {
                return (most, why);
            }
        } else if wanted < bounds.current {
            let limit = self.limit(bounds, down, false).min(bounds.current);
            let (least, why) = if bounds.min < limit { (limit, DOWN_LIMIT) } else { (bounds.min, TOO_FEW) };
            if wanted < least {
                return (least, why);
            }
        }
        (wanted, WITHIN)
    }

    /// How far the policies of a direction let the size change from the size at the beginning of their periods.
    fn limit(&self, bounds: &Bounds<'_>, rules: &HPAScalingRules, is_up: bool) -> i32 {
        let select = rules.select_policy.as_deref().unwrap_or("Max");
        if select == "Disabled" {
            return bounds.current;
        }
        let changed = |changes: &[(i32, Timestamp)], period| {
            let recent = changes.iter().filter(|(_, at)| is_within(*at, period, bounds.now));
            recent.fold(0_i32, |sum, (change, _)| sum.saturating_add(*change))
        };
        let proposals = rules.policies.iter().map(|policy| {
            let (added, removed) =
                (changed(&self.ups, policy.period_seconds), changed(&self.downs, policy.period_seconds));
            let start = bounds.current.saturating_sub(added).saturating_add(removed);
            let percent = f64::from(policy.value) / 100.0;
            match (policy.type_.as_str(), is_up) {
                ("Percent", true) => (f64::from(start) * (1.0 + percent)).ceil() as i32,
                ("Percent", false) => (f64::from(start) * (1.0 - percent)) as i32,
                (_, true) => start.saturating_add(policy.value),
                (_, false) => start.saturating_sub(policy.value),
            }
        });
        // The largest change is the largest number when scaling up, and the smallest when scaling down.
        let farthest = if is_up == (select == "Min") { proposals.min() } else { proposals.max() };
        farthest.unwrap_or(if is_up { i32::MIN } else { i32::MAX })
    }
}

fn is_within(at: Timestamp, seconds: i32, now: Timestamp) -> bool {
    now.duration_since(at) < SignedDuration::from_secs(i64::from(seconds))
}

/// In Kubernetes: `convertDesiredReplicasWithRules`.
fn within(wanted: i32, bounds: &Bounds<'_>) -> (i32, Why) {
    let step = bounds.current.saturating_mul(2).max(FIRST_STEP);
    let (most, why) = if bounds.max > step { (step, UP_LIMIT) } else { (bounds.max, TOO_MANY) };
    if wanted < bounds.min {
        (bounds.min, TOO_FEW)
    } else if wanted > most {
        (most, why)
    } else {
        (wanted, WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;
    use proptest::prelude::*;
    use serde_json::json;

    fn at(seconds: i64) -> Timestamp {
        parse_time("2026-01-01T00:00:00Z").unwrap() + SignedDuration::from_secs(seconds)
    }

    fn bounds(current: i32, behavior: Option<&HorizontalPodAutoscalerBehavior>, seconds: i64) -> Bounds<'_> {
        Bounds { min: 1, max: 100, current, behavior, stabilization: SignedDuration::from_mins(5), now: at(seconds) }
    }

    fn behavior(up: serde_json::Value, down: serde_json::Value) -> HorizontalPodAutoscalerBehavior {
        serde_json::from_value(json!({"scaleUp": up, "scaleDown": down})).unwrap()
    }

    #[test]
    fn without_rules_a_size_doubles_at_most_and_shrinks_when_five_minutes_agree() {
        let mut memory = Memory::default();
        memory.begin(10, at(0));
        let up = memory.bound(50, &bounds(10, None, 1));
        assert_eq!((up.replicas, up.limited, up.limit.0), (20, true, "ScaleUpLimit"));
        let stays = memory.bound(3, &bounds(20, None, 100));
        assert_eq!((stays.replicas, stays.able.0), (40, "ScaleDownStabilized"));
        let down = memory.bound(3, &bounds(20, None, 302));
        assert_eq!((down.replicas, down.able.0, down.limit.0), (3, "ReadyForNewScale", "DesiredWithinRange"));
        assert_eq!(memory.bound(0, &bounds(3, None, 1000)).limit.0, "TooFewReplicas");
        assert_eq!(Memory::default().bound(500, &bounds(90, None, 0)).limit.0, "TooManyReplicas");
    }

    #[test]
    fn policies_count_what_their_periods_have_seen() {
        let policies = json!([
            {"type": "Pods", "value": 2, "periodSeconds": 60},
            {"type": "Percent", "value": 10, "periodSeconds": 60},
        ]);
        let rules = behavior(
            json!({"policies": policies, "selectPolicy": "Max", "stabilizationWindowSeconds": 0}),
            json!({"policies": policies, "selectPolicy": "Min", "stabilizationWindowSeconds": 0}),
        );
        let mut memory = Memory::default();
        let up = memory.bound(50, &bounds(10, Some(&rules), 0));
        assert_eq!((up.replicas, up.limit.0), (12, "ScaleUpLimit"));
        memory.scaled(12, &bounds(10, Some(&rules), 0));
        assert_eq!(memory.bound(50, &bounds(12, Some(&rules), 30)).replicas, 12, "the period is used up");
        assert_eq!(memory.bound(50, &bounds(12, Some(&rules), 61)).replicas, 14);
        let down = Memory::default().bound(1, &bounds(10, Some(&rules), 0));
        assert_eq!((down.replicas, down.limit.0), (9, "ScaleDownLimit"));
    }

    #[test]
    fn a_direction_that_is_disabled_stands_still() {
        let disabled = json!({"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0});
        let rules = behavior(disabled.clone(), disabled);
        for wanted in [1, 50] {
            let bounded = Memory::default().bound(wanted, &bounds(10, Some(&rules), 0));
            assert_eq!((bounded.replicas, bounded.limited), (10, true));
        }
    }

    #[test]
    fn a_window_holds_a_size_back_until_all_of_it_agrees() {
        let rules = behavior(
            json!({"policies": [{"type": "Pods", "value": 99, "periodSeconds": 15}], "stabilizationWindowSeconds": 60}),
            json!({"policies": [{"type": "Pods", "value": 99, "periodSeconds": 15}]}),
        );
        let mut memory = Memory::default();
        memory.begin(10, at(0));
        let held = memory.bound(20, &bounds(10, Some(&rules), 30));
        assert_eq!((held.replicas, held.able.0), (10, "ScaleUpStabilized"));
        assert_eq!(memory.bound(25, &bounds(10, Some(&rules), 61)).replicas, 20);
        assert_eq!(memory.bound(5, &bounds(20, Some(&rules), 200)).able.0, "ScaleDownStabilized");
    }

    proptest! {
        #[test]
        fn a_size_stays_within_its_bounds_and_never_jumps_over_what_is_wanted(
            wanted in 0..1000_i32, current in 1..100_i32, value in any::<i32>(), period in any::<i32>(), with in any::<bool>(),
        ) {
            let policies = json!([{"type": "Pods", "value": value, "periodSeconds": period}]);
            let rules = behavior(json!({"policies": policies}), json!({"policies": policies}));
            let bounds = bounds(current, with.then_some(&rules), 0);
            let bounded = Memory::default().bound(wanted, &bounds);
            prop_assert!((1..=100).contains(&bounded.replicas));
            prop_assert_eq!(bounded.limited, bounded.replicas != wanted);
        }
    }
}
