use std::borrow::Cow;

use crate::framework::{Check, Filter, LooksAt, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// The filters with one pod, ready to look at nodes.
pub(crate) struct Checks<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot,
    /// Where room is being made for the pod.
    nomination: Option<usize>,
    checks: Vec<(&'a dyn Filter, Check<'a>)>,
}

impl<'a> Checks<'a> {
    /// Prepares the filters of a profile.
    pub(crate) fn prepare(profile: &'a Profile, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Self {
        let filters = profile.filters.iter().map(AsRef::as_ref);
        let prepared = filters.filter_map(|filter| Some((filter, filter.prepare(pod, snapshot)?)));
        Self { pod, snapshot, nomination: snapshot.nomination(&pod.key), checks: prepared.collect() }
    }

    /// The first filter that rejects the node, with its verdict; none if the pod fits.
    ///
    /// Where room is being made for other pods of at least the same priority, the pod has to fit beside them too.
    pub(crate) fn rejection(&self, node: &NodeInfo) -> Option<(&'static str, Verdict)> {
        let expected = self.expected(node);
        expected.and_then(|expected| self.first(&expected, |_| true)).or_else(|| self.first(node, |_| true))
    }

    /// The node with the pods on it for which room is being made, if those matter.
    pub(crate) fn expected(&self, node: &NodeInfo) -> Option<Cow<'a, NodeInfo>> {
        self.snapshot.expected(node, self.pod, self.nomination)
    }

    /// As [`Self::rejection`], but for what the pods on the node say, whatever they are.
    pub(crate) fn rejection_by_the_node(&self, node: &NodeInfo) -> Option<(&'static str, Verdict)> {
        self.first(node, |filter| filter.looks_at() == LooksAt::Node)
    }

    /// Whether room is being made for the pod somewhere.
    pub(crate) fn is_nominated(&self) -> bool {
        self.nomination.is_some()
    }

    /// Whether it matters who the pods on a node are, beside what they ask for together.
    pub(crate) fn look_at_pods(&self) -> bool {
        self.checks.iter().any(|(filter, _)| filter.looks_at() == LooksAt::Pods)
    }

    /// What the filters say that look at sums, if so many pods are on the node that ask for `used` together.
    pub(crate) fn beside(&self, node: &NodeInfo, used: &Resources, pods: i64) -> Verdict {
        let verdicts = self.checks.iter().filter_map(|(filter, _)| filter.beside(self.pod, node, used, pods));
        verdicts.into_iter().find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits)
    }

    fn first(&self, node: &NodeInfo, asked: impl Fn(&dyn Filter) -> bool) -> Option<(&'static str, Verdict)> {
        let asked = self.checks.iter().filter(|(filter, _)| asked(*filter));
        asked.map(|(filter, check)| (filter.name(), check(node))).find(|(_, verdict)| *verdict != Verdict::Fits)
    }
}
