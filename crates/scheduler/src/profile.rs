use crate::arguments::{Arguments, PreemptionArguments, VolumeBindingArguments};
use crate::framework::{ClusterEvent, Filter, Hint, Score};
use crate::plugins::PLUGINS;
use crate::pod_info::PodInfo;

/// How the pods of one `spec.schedulerName` are scheduled: which plug-ins have a say, in which order, and what they were
/// told.
///
/// In Kubernetes: `KubeSchedulerProfile`, and `framework.Framework` made of it.
#[derive(Debug)]
pub struct Profile {
    /// The `spec.schedulerName` of its pods.
    pub name: String,
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// With their weights.
    pub(crate) scores: Vec<(Box<dyn Score>, i64)>,
    /// None if nobody makes room.
    pub(crate) preemption: Option<PreemptionArguments>,
    pub(crate) volume_binding: VolumeBindingArguments,
    /// How many nodes that fit are enough, in percent; 0: by how many there are.
    pub(crate) percentage_of_nodes_to_score: usize,
    /// Whether claims are bound before pods are.
    pub(crate) binds_volumes: bool,
    /// Whether a pod that finds no place lets go of what was allocated for it alone.
    pub(crate) deallocates: bool,
    /// Whether claims on devices are met before pods are bound.
    pub(crate) binds_claims: bool,
    /// Whether pods wait until their claims on devices are made.
    pub(crate) awaits_claims: bool,
    /// Whether pods wait for their scheduling gates to go.
    pub(crate) heeds_gates: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self::named("default-scheduler")
    }
}

impl Profile {
    /// All plug-ins, as they are by default.
    pub fn named(name: &str) -> Self {
        let arguments = Arguments::default();
        Self {
            name: name.to_owned(),
            filters: PLUGINS.iter().filter_map(|plugin| Some(plugin.filter?(&arguments))).collect(),
            scores: PLUGINS.iter().filter_map(|plugin| Some((plugin.score?(&arguments), plugin.weight))).collect(),
            preemption: Some(arguments.preemption),
            volume_binding: arguments.volume_binding,
            percentage_of_nodes_to_score: 0,
            binds_volumes: true,
            deallocates: true,
            binds_claims: true,
            awaits_claims: true,
            heeds_gates: true,
        }
    }

    /// What the filter called `name` thinks of an event, for a pod that it rejected.
    pub(crate) fn hint(&self, name: &str, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let filter = self.filters.iter().find(|filter| filter.name() == name);
        filter.map_or(Hint::Queue, |filter| filter.hint(pod, event))
    }

    /// The filters that may change their minds about a pod when something of this sort happens.
    pub(crate) fn who_care_for(&self, event: &ClusterEvent) -> impl Iterator<Item = &'static str> {
        self.filters.iter().filter(|filter| filter.cares_for(event)).map(|filter| filter.name())
    }
}
