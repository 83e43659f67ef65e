use std::collections::BTreeSet;
use std::sync::Arc;

/// The release of Kubernetes whose behaviour a component has: feature gates that are on, and changes of behaviour
/// without a gate, by name. Cheap to clone.
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
    pub fn enabled(&self, gate: &str) -> bool {
        self.names.contains(gate)
    }

    /// Whether a feature gate is on, or the release has a change of behaviour.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}
