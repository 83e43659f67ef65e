use std::cmp::Reverse;
use std::sync::Arc;

use crate::framework::Reasons;
use crate::pod_info::PodInfo;

/// A node where preemption can make room, with the victims, the most important first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) node: Arc<str>,
    pub(crate) pods: Vec<Arc<PodInfo>>,
    /// How many of the victims violate a budget.
    pub(crate) violations: usize,
}

/// The candidate, or why no victims would make room.
pub(crate) type CandidateResult = Result<Candidate, Reasons>;

/// The smallest rank is the best.
type Rank<'a> = (usize, i32, i64, usize, Reverse<Option<&'a str>>, &'a str);

impl Candidate {
    /// Fewest violations, lowest highest priority, lowest sum of priorities, fewest victims, latest start of the most
    /// important one.
    pub(crate) fn rank(&self) -> Rank<'_> {
        let highest = self.pods.first().map_or(i32::MIN, |pod| pod.priority);
        // Shifted, so that many pods with negative priority do not look cheaper than few.
        let sum = self.pods.iter().map(|pod| i64::from(pod.priority) + i64::from(i32::MAX) + 1).sum();
        let most_important = self.pods.iter().filter(|pod| pod.priority == highest);
        let earliest = most_important.filter_map(|pod| pod.started.as_deref()).min();
        (self.violations, highest, sum, self.pods.len(), Reverse(earliest), &self.node)
    }
}
