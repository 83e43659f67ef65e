use std::sync::Arc;

use crate::candidate::{Candidate, Found};
use crate::checks::Checks;
use crate::framework::Verdict;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::profile::Profile;
use crate::snapshot::Snapshot;

/// What was found out about nodes for one pod, for the next pods that are like it: pods of one owner come one after the
/// other. It holds for a node until something changes there, and says nothing that asking anew would not say.
///
/// In Kubernetes: `OpportunisticBatching`, which remembers an order of nodes instead.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    like: Option<(Arc<Profile>, PodInfo)>,
    /// Each verdict once, with the filter whose it is; by number.
    verdicts: Vec<(&'static str, Verdict)>,
    /// By slot.
    nodes: Vec<Option<Known>>,
    victims: Vec<Option<(usize, Found)>>,
}

/// Which verdict a node got, and when.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: usize,
    verdict: u32,
}

/// The pod fits.
pub(crate) const FITS: u32 = u32::MAX;

impl Memo {
    /// What is known for pods like this one; nothing, if it is not like the one before. None if what holds for one such pod
    /// need not hold for the next.
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
            Some(rejection) => self.number(rejection),
        };
        self.nodes[slot] = Some(Known { at: snapshot.now(), verdict });
        verdict
    }

    fn number(&mut self, rejection: (&'static str, Verdict)) -> u32 {
        let at = self.verdicts.iter().position(|known| *known == rejection);
        let at = at.unwrap_or_else(|| {
            self.verdicts.push(rejection);
            self.verdicts.len() - 1
        });
        u32::try_from(at).unwrap_or(FITS - 1)
    }

    /// The verdicts that were given.
    pub(crate) fn verdicts(&self) -> &[(&'static str, Verdict)] {
        &self.verdicts
    }

    /// Who would have to go on a node.
    pub(crate) fn victims(&mut self, node: &NodeInfo, snapshot: &Snapshot, find: impl FnOnce() -> Found) -> &Found {
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

    /// Who would have to go on a node that was asked about a moment ago.
    pub(crate) fn known_victims(&self, node: &NodeInfo) -> Option<&Candidate> {
        self.victims.get(node.slot)?.as_ref()?.1.as_ref().ok()
    }
}
