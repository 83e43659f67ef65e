use super::common_unused::{COMPONENT, OBSERVABILITY, VERSIONS};
use super::unused::{UnusedFlag, UnusedFlags, changes_nothing, refused};

const NO_LIMIT: &str = "the scheduler has no client rate limit";

/// The flags of kube-scheduler that the scheduler does not obey.
#[derive(Debug)]
pub(crate) struct SchedulerUnused;

impl UnusedFlags for SchedulerUnused {
    const ROWS: &'static [&'static [UnusedFlag]] = &[OWN, COMPONENT, OBSERVABILITY, VERSIONS];
}

const OWN: &[UnusedFlag] = &[
    changes_nothing("kube-api-burst", "COUNT", NO_LIMIT),
    changes_nothing("kube-api-qps", "NUMBER", NO_LIMIT),
    refused("leader-elect-resource-name", "TEXT", "the name of the Lease is fixed").unless("kube-scheduler"),
    refused("pod-max-in-unschedulable-pods-duration", "DURATION", "the duration is fixed").unless("5m0s"),
    refused("write-config-to", "FILE", "the scheduler does not write its configuration"),
];
