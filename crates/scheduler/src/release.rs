use std::collections::BTreeSet;
use std::sync::Arc;

/// The release of Kubernetes whose behaviour the scheduler has: its default plug-ins in order, and changes of behaviour
/// that no plug-in shows. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    plugins: Arc<[&'static str]>,
    behaviours: Arc<BTreeSet<&'static str>>,
}

/// The default plug-ins of the default release.
const DEFAULT: [&str; 19] = [
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
];

impl Default for Release {
    fn default() -> Self {
        Self::with(DEFAULT, [])
    }
}

impl Release {
    /// A release with these default plug-ins, in order, and these behaviours.
    pub fn with(
        plugins: impl IntoIterator<Item = &'static str>,
        behaviours: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { plugins: plugins.into_iter().collect(), behaviours: Arc::new(behaviours.into_iter().collect()) }
    }

    /// The default plug-ins, in order.
    pub(crate) fn plugins(&self) -> &[&'static str] {
        &self.plugins
    }

    /// Whether it has a change of behaviour.
    pub(crate) fn has(&self, behaviour: &str) -> bool {
        self.behaviours.contains(behaviour)
    }
}
