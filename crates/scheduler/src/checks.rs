use std::borrow::Cow;

use crate::framework::{Filter, FilterVerdict, LooksAt, PreparedFilter};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// The filters of a profile, prepared for one pod.
pub(crate) struct Checks<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot,
    /// The slot of the pod's nominated node.
    nomination: Option<usize>,
    checks: Vec<(&'a dyn Filter, PreparedFilter<'a>)>,
}

impl<'a> Checks<'a> {
    /// Prepares the filters of a profile.
    pub(crate) fn prepare(profile: &'a Profile, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Self {
        let filters = profile.filters.iter().map(AsRef::as_ref);
        let prepared = filters.filter_map(|filter| Some((filter, filter.prepare(pod, snapshot)?)));
        Self { pod, snapshot, nomination: snapshot.nomination(&pod.key), checks: prepared.collect() }
    }

    /// The first filter that rejects the node, with its verdict; `None` if the pod fits.
    ///
    /// The pod must also fit together with pods that are nominated to the node and have at least the same priority.
    pub(crate) fn rejection(&self, node: &NodeInfo) -> Option<(&'static str, FilterVerdict)> {
        let expected = self.expected(node);
        expected.and_then(|expected| self.first(&expected, |_| true)).or_else(|| self.first(node, |_| true))
    }

    /// The node including its nominated pods, if those matter.
    pub(crate) fn expected(&self, node: &NodeInfo) -> Option<Cow<'a, NodeInfo>> {
        self.snapshot.expected(node, self.pod, self.nomination)
    }

    /// As [`Self::rejection`], but without the verdicts that depend on the pods on the node.
    pub(crate) fn rejection_by_the_node(&self, node: &NodeInfo) -> Option<(&'static str, FilterVerdict)> {
        self.first(node, |filter| filter.looks_at() == LooksAt::Node)
    }

    /// Whether the pod is nominated to a node.
    pub(crate) fn is_nominated(&self) -> bool {
        self.nomination.is_some()
    }

    /// Whether a filter looks at individual pods on a node, and not only at the sum of their requests.
    pub(crate) fn look_at_pods(&self) -> bool {
        self.checks.iter().any(|(filter, _)| filter.looks_at() == LooksAt::Pods)
    }

    /// The verdict of the filters that look at sums only, for a node with `pods` pods that request `used` in total.
    pub(crate) fn beside(&self, node: &NodeInfo, used: &Resources, pods: i64) -> FilterVerdict {
        let verdicts = self.checks.iter().filter_map(|(filter, _)| filter.beside(self.pod, node, used, pods));
        verdicts.into_iter().find(|verdict| *verdict != FilterVerdict::Fits).unwrap_or(FilterVerdict::Fits)
    }

    fn first(&self, node: &NodeInfo, asked: impl Fn(&dyn Filter) -> bool) -> Option<(&'static str, FilterVerdict)> {
        let asked = self.checks.iter().filter(|(filter, _)| asked(*filter));
        asked.map(|(filter, check)| (filter.name(), check(node))).find(|(_, verdict)| *verdict != FilterVerdict::Fits)
    }
}
