//! The releases of tests.

use coracle_meta::Release;

/// The release of a version, with all gates and behaviours about which the controllers ask.
pub(crate) fn named(version: &str) -> Release {
    let since: &[&[&'static str]] = match version {
        "1.35" => &[],
        "1.36" => &[STALE_CONTROLLER_CONSISTENCY, SINCE_1_36],
        "1.37" => &[STALE_CONTROLLER_CONSISTENCY, SINCE_1_36, SINCE_1_37],
        _ => panic!("no release has the version {version}"),
    };
    Release::with(since.iter().copied().flatten().copied())
}

const STALE_CONTROLLER_CONSISTENCY: &[&str] = &[
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyHPA",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
];

const SINCE_1_36: &[&str] =
    &["MutableSchedulingDirectivesForSuspendedJobs", "JobBackOffKeepsActive", "StatefulSetDeletesGonePods"];

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
