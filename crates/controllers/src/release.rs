use std::collections::BTreeSet;
use std::sync::Arc;

/// The release of Kubernetes whose behaviour the controllers have: feature gates that are on, and changes of behaviour
/// without a gate. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    names: Arc<BTreeSet<&'static str>>,
}

/// The gates of the default: controllers wait for their own writes.
const DEFAULT: [&str; 5] = [
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyHPA",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
];

impl Default for Release {
    fn default() -> Self {
        Self::with(DEFAULT)
    }
}

impl Release {
    /// A release with these gates and behaviours, and no others.
    pub fn with(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self { names: Arc::new(names.into_iter().collect()) }
    }

    /// Whether a feature gate is on.
    pub(crate) fn enabled(&self, gate: &str) -> bool {
        self.names.contains(gate)
    }

    /// Whether it has a change of behaviour that has no gate.
    pub(crate) fn has(&self, behaviour: &str) -> bool {
        self.names.contains(behaviour)
    }

    #[cfg(test)]
    pub(crate) fn named(version: &str) -> Option<Self> {
        let names: &[&[&'static str]] = match version {
            "1.35" => &[],
            "1.36" => &[&DEFAULT, SINCE_1_36],
            "1.37" => &[&DEFAULT, SINCE_1_36, SINCE_1_37],
            _ => return None,
        };
        Some(Self::with(names.iter().copied().flatten().copied()))
    }
}

#[cfg(test)]
const SINCE_1_36: &[&str] =
    &["MutableSchedulingDirectivesForSuspendedJobs", "JobBackOffKeepsActive", "StatefulSetDeletesGonePods"];

#[cfg(test)]
const SINCE_1_37: &[&str] = &[
    "AmbiguousSelectorNamesTwo",
    "HPAActsOnCreation",
    "HPAGeneration",
    "HPAMetricErrorNamesTheObjectFirst",
    "HPAScaleToZero",
    "MaxUnavailableStatefulSet",
    "NodeControllerLeaseCircuitBreaker",
    "PersistentVolumeClaimUnusedSinceTime",
    "StatefulSetUpdateCompletesInAllStrategies",
];
