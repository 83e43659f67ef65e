use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

/// The eviction of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// It happens at this time.
    Running(Timestamp),
    /// It has happened.
    Fired,
}

/// The evictions by pod, and the uid of each pod. An entry exists until its pod is gone, or may stay.
#[derive(Debug, Default)]
pub(super) struct Timers {
    of_pods: Mutex<BTreeMap<ObjectKey, (String, Timer)>>,
}

impl Timers {
    pub(super) fn has(&self, pod: &ObjectKey) -> bool {
        self.of_pods.lock().contains_key(pod)
    }

    /// The timer of the pod with this uid.
    pub(super) fn get(&self, pod: &ObjectKey, uid: &str) -> Option<Timer> {
        self.of_pods.lock().get(pod).filter(|(of, _)| of == uid).map(|(_, timer)| *timer)
    }

    pub(super) fn set(&self, pod: &ObjectKey, uid: &str, timer: Timer) {
        self.of_pods.lock().insert(pod.clone(), (uid.to_owned(), timer));
    }

    pub(super) fn remove(&self, pod: &ObjectKey) {
        self.of_pods.lock().remove(pod);
    }
}

/// How many pods were evicted because of each rule, by the uid of the rule. In Kubernetes: `taintRuleStats`.
#[derive(Debug, Default)]
pub(super) struct EvictedPods {
    by_rule: Mutex<BTreeMap<String, usize>>,
}

impl EvictedPods {
    pub(super) fn count(&self, rule: &str) {
        *self.by_rule.lock().entry(rule.to_owned()).or_default() += 1;
    }

    pub(super) fn of_rule(&self, rule: &str) -> usize {
        self.by_rule.lock().get(rule).copied().unwrap_or_default()
    }

    /// The rule is deleted.
    pub(super) fn forget(&self, rule: &str) {
        self.by_rule.lock().remove(rule);
    }
}
