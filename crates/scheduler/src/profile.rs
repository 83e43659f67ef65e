use coracle_release::Release;

use crate::arguments::{Arguments, PreemptionArguments, VolumeBindingArguments};
use crate::framework::{ClusterEvent, Filter, Hint, Score};
use crate::plugins::enabled;
use crate::pod_info::PodInfo;

/// How the pods of one `spec.schedulerName` are scheduled: the plug-ins, their order and their arguments.
///
/// In Kubernetes: `KubeSchedulerProfile`, and the `framework.Framework` made from it.
#[derive(Debug)]
pub struct Profile {
    /// The `spec.schedulerName` of its pods.
    pub name: String,
    pub(crate) release: Release,
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// With their weights.
    pub(crate) scores: Vec<(Box<dyn Score>, i64)>,
    /// `None` disables preemption.
    pub(crate) preemption: Option<PreemptionArguments>,
    pub(crate) volume_binding: VolumeBindingArguments,
    /// How many feasible nodes are enough, in percent; 0 for a value that depends on the cluster's size.
    pub(crate) percentage_of_nodes_to_score: usize,
    /// Whether volume claims are bound before pods are.
    pub(crate) binds_volumes: bool,
    /// Whether claims that are allocated only for an unschedulable pod are deallocated.
    pub(crate) deallocates: bool,
    /// Whether ResourceClaims are allocated before pods are bound.
    pub(crate) binds_claims: bool,
    /// Whether pods wait until their ResourceClaims exist.
    pub(crate) awaits_claims: bool,
    /// Whether pods wait until their scheduling gates are removed.
    pub(crate) heeds_gates: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self::named("default-scheduler")
    }
}

impl Profile {
    /// The default profile of the default release under a name.
    pub fn named(name: &str) -> Self {
        Self::of(name, &Release::default())
    }

    /// The default profile of a release under a name.
    pub fn of(name: &str, release: &Release) -> Self {
        let arguments = Arguments::default();
        Self {
            name: name.to_owned(),
            release: release.clone(),
            filters: enabled(release).filter_map(|plugin| Some(plugin.filter?(&arguments))).collect(),
            scores: enabled(release)
                .filter_map(|plugin| Some((plugin.score_in(release)?(&arguments), plugin.weight)))
                .collect(),
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

    /// The queueing hint of the filter `name` for a pod that it rejected.
    pub(crate) fn hint(&self, name: &str, pod: &PodInfo, event: &ClusterEvent) -> Hint {
        let filter = self.filters.iter().find(|filter| filter.name() == name);
        filter.map_or(Hint::Queue, |filter| filter.hint(pod, event))
    }

    /// The filters that registered for this type of event.
    pub(crate) fn who_care_for(&self, event: &ClusterEvent) -> impl Iterator<Item = &'static str> {
        self.filters.iter().filter(|filter| filter.cares_for(event)).map(|filter| filter.name())
    }
}
