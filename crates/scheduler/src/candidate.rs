use std::cmp::Reverse;
use std::sync::Arc;

use crate::framework::Reasons;
use crate::pod_info::PodInfo;

/// A node where room can be made, and who has to go for it, the most important first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) node: Arc<str>,
    pub(crate) pods: Vec<Arc<PodInfo>>,
    /// How many of those a budget protects.
    pub(crate) violations: usize,
}

/// Or why there is nobody whose going would make room.
pub(crate) type Found = Result<Candidate, Reasons>;

/// Smaller is better.
type Rank<'a> = (usize, i32, i64, usize, Reverse<Option<&'a str>>, &'a str);

impl Candidate {
    /// Fewest violations, lowest highest priority, lowest sum, fewest, latest start of the most important.
    pub(crate) fn rank(&self) -> Rank<'_> {
        let highest = self.pods.first().map_or(i32::MIN, |pod| pod.priority);
        // Shifted so that many pods of negative priority do not look cheaper than few.
        let sum = self.pods.iter().map(|pod| i64::from(pod.priority) + i64::from(i32::MAX) + 1).sum();
        let most_important = self.pods.iter().filter(|pod| pod.priority == highest);
        let earliest = most_important.filter_map(|pod| pod.started.as_deref()).min();
        (self.violations, highest, sum, self.pods.len(), Reverse(earliest), &self.node)
    }
}
