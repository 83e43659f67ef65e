//! All plug-ins and their extension points. A new plug-in needs a file and a line here.

use coracle_release::Release;

use crate::arguments::Arguments;
use crate::filters as f;
use crate::framework::{Filter, Score};
use crate::scores as s;

/// The extension points. In Kubernetes: the fields of `Plugins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
}

impl Point {
    pub(crate) const ALL: [Self; 12] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// Its field in the configuration.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PostBind => "postBind",
        }
    }
}

/// Makes a filter for a profile.
type MakeFilter = fn(&Arguments) -> Box<dyn Filter>;
/// Makes a score for a profile.
type MakeScore = fn(&Arguments) -> Box<dyn Score>;

/// A plug-in.
pub(crate) struct Plugin {
    pub(crate) name: &'static str,
    pub(crate) points: &'static [Point],
    /// The default weight of its scores.
    pub(crate) weight: i64,
    pub(crate) filter: Option<MakeFilter>,
    score: Option<MakeScore>,
    /// The feature gate without which it does not score.
    scores_with: Option<&'static str>,
}

impl Plugin {
    const fn new(name: &'static str, points: &'static [Point]) -> Self {
        Self { name, points, weight: 1, filter: None, score: None, scores_with: None }
    }

    const fn filter(mut self, make: MakeFilter) -> Self {
        self.filter = Some(make);
        self
    }

    const fn score(mut self, weight: i64, make: MakeScore) -> Self {
        self.weight = weight;
        self.score = Some(make);
        self
    }

    const fn scores_with(mut self, gate: &'static str) -> Self {
        self.scores_with = Some(gate);
        self
    }

    /// How its scores are made in a release.
    pub(crate) fn score_in(&self, release: &Release) -> Option<MakeScore> {
        self.score.filter(|_| self.scores_with.is_none_or(|gate| release.enabled(gate)))
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PLUGINS.iter().find(|plugin| plugin.name == name)
    }
}

use Point::{Bind, Filter as F, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve, Score as S};

/// All plug-ins. Which are enabled by default, and in which order, depends on the release.
pub(crate) const PLUGINS: &[Plugin] = &[
    Plugin::new("SchedulingGates", &[PreEnqueue]),
    Plugin::new("PrioritySort", &[QueueSort]),
    Plugin::new("NodeUnschedulable", &[F]).filter(f::node_unschedulable::make),
    Plugin::new("NodeName", &[F]).filter(f::node_name::make),
    Plugin::new("TaintToleration", &[F, PreScore, S])
        .filter(f::taint_toleration::make)
        .score(3, s::taint_toleration::make),
    Plugin::new("NodeAffinity", &[PreFilter, F, PreScore, S])
        .filter(f::node_affinity::make)
        .score(2, s::node_affinity::make),
    Plugin::new("NodePorts", &[PreFilter, F]).filter(f::node_ports::make),
    Plugin::new("NodeResourcesFit", &[PreFilter, F, PreScore, S])
        .filter(f::node_resources_fit::make)
        .score(1, s::node_resources_fit::make),
    Plugin::new("VolumeRestrictions", &[PreFilter, F]).filter(f::volume_restrictions::make),
    Plugin::new("NodeVolumeLimits", &[PreFilter, F]).filter(f::node_volume_limits::make),
    Plugin::new("VolumeBinding", &[PreFilter, F, Reserve, PreBind, PreScore, S])
        .filter(f::volume_binding::make)
        .score(1, s::volume_binding::make)
        .scores_with("StorageCapacityScoring"),
    Plugin::new("VolumeZone", &[PreFilter, F]).filter(f::volume_zone::make),
    Plugin::new("PodTopologySpread", &[PreFilter, F, PreScore, S])
        .filter(f::pod_topology_spread::make)
        .score(2, s::pod_topology_spread::make),
    Plugin::new("InterPodAffinity", &[PreFilter, F, PreScore, S])
        .filter(f::inter_pod_affinity::make)
        .score(2, s::inter_pod_affinity::make),
    Plugin::new("DynamicResources", &[PreEnqueue, PreFilter, F, PostFilter, S, Reserve, PreBind])
        .filter(f::dynamic_resources::make)
        .score(2, s::dynamic_resources::make),
    Plugin::new("DefaultPreemption", &[PreEnqueue, PostFilter]),
    Plugin::new("NodeResourcesBalancedAllocation", &[PreScore, S]).score(1, s::balanced_allocation::make),
    Plugin::new("ImageLocality", &[S]).score(1, s::image_locality::make),
    Plugin::new("DefaultBinder", &[Bind]),
    Plugin::new("NodeDeclaredFeatures", &[PreFilter, F]).filter(f::node_declared_features::make),
];

/// The plug-ins that a release enables by default, in order; the first filter that rejects a node decides. In
/// Kubernetes: `getDefaultPlugins`.
pub(crate) fn enabled(release: &Release) -> impl Iterator<Item = &'static Plugin> {
    release.list("scheduler-plugins").iter().filter_map(|name| Plugin::named(name))
}

/// Plug-ins that Kubernetes disables by default, and that are not implemented here.
pub(crate) const OFF: &[&str] = &["GangScheduling"];
/// Plug-ins that Kubernetes has removed. In Kubernetes: `invalidPluginsByVersion`.
pub(crate) const REMOVED: &[&str] = &["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];
