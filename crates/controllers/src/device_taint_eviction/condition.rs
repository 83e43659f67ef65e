//! The condition of a DeviceTaintRule: what its taint does, or would do.

use coracle_api::meta_v1::Condition;
use coracle_api::resource_v1::DeviceTaintRule;

/// The type of the condition.
pub(super) const EVICTION_IN_PROGRESS: &str = "EvictionInProgress";

/// What a rule selects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RuleCounts {
    /// Devices in slices.
    pub(super) published_devices: usize,
    /// Devices of allocated claims.
    pub(super) allocated_devices: usize,
    /// Pods to evict.
    pub(super) pods: usize,
    /// The namespaces of these pods.
    pub(super) namespaces: usize,
    /// Pods that this controller has evicted because of the rule since it started.
    pub(super) evicted: usize,
}

/// The condition of a rule, without the time of its transition.
///
/// In Kubernetes: `maybeUpdateRuleStatus`.
pub(super) fn condition_of(rule: &DeviceTaintRule, counts: RuleCounts) -> Condition {
    let RuleCounts { published_devices, allocated_devices, pods, namespaces, evicted } = counts;
    let (status, reason, message) = match rule.spec.taint.effect.as_str() {
        "NoExecute" if pods > 0 => {
            let verb = if pods == 1 { "pod needs" } else { "pods need" };
            let places = if namespaces == 1 { "namespace" } else { "different namespaces" };
            let message = format!("{pods} {verb} to be evicted in {namespaces} {places}.");
            ("True", "PodsPendingEviction", message)
        }
        "NoExecute" if evicted > 0 => ("False", "Completed", String::new()),
        "NoExecute" => ("False", "NotStarted", String::new()),
        "None" => {
            let devices = |count: usize| if count == 1 { "device" } else { "devices" };
            let message = format!(
                "{published_devices} published {} selected. {allocated_devices} allocated {} selected. {pods} {} would \
                 be evicted in {namespaces} {} if the effect was NoExecute. This information will not be updated \
                 again. Recreate the DeviceTaintRule to trigger an update.",
                devices(published_devices),
                devices(allocated_devices),
                if pods == 1 { "pod" } else { "pods" },
                if namespaces == 1 { "namespace" } else { "different namespaces" },
            );
            ("False", "NoEffect", message)
        }
        _ => ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.".to_owned()),
    };
    let so_far = match evicted {
        0 => None,
        1 => Some("1 pod evicted since starting the controller.".to_owned()),
        many => Some(format!("{many} pods evicted since starting the controller.")),
    };
    let sentences: Vec<String> = [message].into_iter().filter(|message| !message.is_empty()).chain(so_far).collect();
    Condition {
        type_: EVICTION_IN_PROGRESS.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: sentences.join(" "),
        observed_generation: rule.metadata.generation.unwrap_or(0),
        ..Condition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(effect: &str, counts: RuleCounts) -> (String, String, String) {
        let mut rule = DeviceTaintRule::default();
        effect.clone_into(&mut rule.spec.taint.effect);
        let Condition { status, reason, message, .. } = condition_of(&rule, counts);
        (status, reason, message)
    }

    fn is(status: &str, reason: &str, message: &str) -> (String, String, String) {
        (status.to_owned(), reason.to_owned(), message.to_owned())
    }

    #[test]
    fn a_rule_that_evicts_counts_the_pods_that_it_waits_for_and_those_that_are_gone() {
        let counts = RuleCounts::default();
        assert_eq!(condition("NoExecute", counts), is("False", "NotStarted", ""));
        let pending = RuleCounts { pods: 3, namespaces: 2, evicted: 1, ..counts };
        assert_eq!(
            condition("NoExecute", pending),
            is(
                "True",
                "PodsPendingEviction",
                "3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller."
            )
        );
        assert_eq!(
            condition("NoExecute", RuleCounts { evicted: 4, ..counts }),
            is("False", "Completed", "4 pods evicted since starting the controller.")
        );
    }

    #[test]
    fn a_rule_without_that_effect_states_what_it_would_do_or_that_it_evicts_nothing() {
        let counts =
            RuleCounts { published_devices: 2, allocated_devices: 1, pods: 1, namespaces: 1, ..Default::default() };
        let message = "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 \
                       namespace if the effect was NoExecute. This information will not be updated again. Recreate \
                       the DeviceTaintRule to trigger an update.";
        assert_eq!(condition("None", counts), is("False", "NoEffect", message));
        let message = "Eviction only happens for the NoExecute effect.";
        assert_eq!(condition("NoSchedule", counts), is("False", "OtherEffect", message));
    }
}
