use std::sync::Arc;

use crate::candidate::{Candidate, CandidateResult};
use crate::checks::Checks;
use crate::framework::FilterVerdict;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::snapshot::Snapshot;

/// Caches verdicts about nodes for one pod, for the next pods that are identical: pods of one owner are often
/// scheduled one after the other. A verdict is valid until its node changes, and equals what a new check would
/// return.
///
/// In Kubernetes: `OpportunisticBatching`, which caches an order of nodes instead.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    like: Option<(Arc<Profile>, PodInfo)>,
    /// The distinct verdicts, each with its filter; the index is the number of the verdict.
    verdicts: Vec<(&'static str, FilterVerdict)>,
    /// By slot.
    nodes: Vec<Option<Known>>,
    victims: Vec<Option<(usize, CandidateResult)>>,
}

/// The verdict of a node, and when it was computed.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: usize,
    verdict: u32,
}

/// The pod fits.
pub(crate) const FITS: u32 = u32::MAX;

impl Memo {
    /// The cache for pods like this one; it is cleared if the previous pod was different. `None` if the verdicts
    /// depend on which pods were scheduled before.
    pub(crate) fn of<'m>(
        memo: &'m mut Self,
        profile: &Arc<Profile>,
        pod: &PodInfo,
        checks: &Checks<'_>,
    ) -> Option<&'m mut Self> {
        let is_itself = pod.claims.is_empty() && !pod.claims_devices() && pod.nominated_node.is_none();
        if !is_itself || checks.look_at_pods() || checks.is_nominated() {
            return None;
        }
        let is_like = memo.like.as_ref().is_some_and(|(of, other)| Arc::ptr_eq(of, profile) && pod.is_like(other));
        if !is_like {
            *memo = Self { like: Some((profile.clone(), pod.clone())), ..Self::default() };
        }
        Some(memo)
    }

    /// The number of a node's verdict.
    pub(crate) fn verdict(&mut self, node: &NodeInfo, snapshot: &Snapshot, checks: &Checks<'_>) -> u32 {
        let slot = node.slot;
        if self.nodes.len() <= slot {
            self.nodes.resize(slot + 1, None);
        }
        if let Some(known) = self.nodes[slot].filter(|known| snapshot.changed_at(slot) < known.at) {
            return known.verdict;
        }
        let verdict = match checks.rejection(node) {
            None => FITS,
            Some((filter, verdict)) => self.number(filter, verdict),
        };
        self.nodes[slot] = Some(Known { at: snapshot.now(), verdict });
        verdict
    }

    fn number(&mut self, filter: &'static str, verdict: FilterVerdict) -> u32 {
        let rejection = (filter, verdict);
        let at = self.verdicts.iter().position(|known| *known == rejection);
        let at = at.unwrap_or_else(|| {
            self.verdicts.push(rejection);
            self.verdicts.len() - 1
        });
        u32::try_from(at).unwrap_or(FITS - 1)
    }

    /// The distinct verdicts.
    pub(crate) fn verdicts(&self) -> &[(&'static str, FilterVerdict)] {
        &self.verdicts
    }

    /// The victims on a node.
    pub(crate) fn victims(
        &mut self,
        node: &NodeInfo,
        snapshot: &Snapshot,
        find: impl FnOnce() -> CandidateResult,
    ) -> &CandidateResult {
        let slot = node.slot;
        if self.victims.len() <= slot {
            self.victims.resize_with(slot + 1, || None);
        }
        let is_known = self.victims[slot].as_ref().is_some_and(|(at, _)| snapshot.changed_at(slot) < *at);
        if !is_known {
            self.victims[slot] = None;
        }
        &self.victims[slot].get_or_insert_with(|| (snapshot.now(), find())).1
    }

    /// The victims on a node for which [`Self::victims`] was just called.
    pub(crate) fn known_victims(&self, node: &NodeInfo) -> Option<&Candidate> {
        self.victims.get(node.slot)?.as_ref()?.1.as_ref().ok()
    }
}
