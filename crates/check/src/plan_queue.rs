use std::collections::{BTreeSet, VecDeque};

use crate::candidates::both;
use crate::plan::Plan;

/// The plans of a search, in order: those that were found before, then the candidates, then pairs of candidates. The
/// likelier both are, the earlier is their pair.
pub(crate) struct PlanQueue {
    known: VecDeque<Plan>,
    candidates: Vec<Plan>,
    /// The number of the next plan, from 1. Plans that were found before have none, so that a number stays the same when
    /// more plans are found.
    next: usize,
}

/// A plan of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedPlan {
    /// Its number; `None` for a plan that was found before.
    pub(crate) number: Option<usize>,
    /// The plan.
    pub(crate) plan: Plan,
}

impl PlanQueue {
    /// The plans from number `from` on.
    pub(crate) fn new(known: Vec<Plan>, candidates: Vec<Plan>, from: usize) -> Self {
        Self { known: known.into(), candidates, next: from.max(1) }
    }

    /// The next plans, `count` at most. Pairs with a candidate in `missed`, which did not strike, are passed over.
    pub(crate) fn take(&mut self, count: usize, missed: &BTreeSet<usize>) -> Vec<NumberedPlan> {
        let mut taken = Vec::new();
        while taken.len() < count {
            if let Some(plan) = self.known.pop_front() {
                taken.push(NumberedPlan { number: None, plan });
                continue;
            }
            let Some(parts) = self.parts(self.next) else { break };
            let number = Some(self.next);
            self.next += 1;
            match parts {
                Parts::One(index) => taken.push(NumberedPlan { number, plan: self.candidates[index].clone() }),
                Parts::Two(one, other) if [one, other].iter().all(|index| !missed.contains(&(index + 1))) => {
                    taken.push(NumberedPlan { number, plan: both(&self.candidates[one], &self.candidates[other]) });
                }
                Parts::Two(..) => {}
            }
        }
        taken
    }

    /// The number of the next plan; `None` if there is no other.
    pub(crate) fn next(&self) -> Option<usize> {
        self.parts(self.next).map(|_| self.next)
    }

    /// How many plans of the kind that is next are left: candidates, or pairs of them.
    pub(crate) fn left(&self) -> usize {
        let count = self.candidates.len();
        let all = if self.next <= count { count } else { count + count * count.saturating_sub(1) / 2 };
        self.known.len() + (all + 1).saturating_sub(self.next)
    }

    fn parts(&self, number: usize) -> Option<Parts> {
        let count = self.candidates.len();
        let mut index = number.checked_sub(1)?;
        if index < count {
            return Some(Parts::One(index));
        }
        index -= count;
        for sum in 1..2 * count {
            let first = (sum + 1).saturating_sub(count);
            let pairs = sum.div_ceil(2).saturating_sub(first);
            if index < pairs {
                return Some(Parts::Two(first + index, sum - first - index));
            }
            index -= pairs;
        }
        None
    }
}

/// The candidates of a plan, by their indices.
enum Parts {
    One(usize),
    Two(usize, usize),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(word: &str) -> Plan {
        Plan::of([json!(word)])
    }

    fn texts(plans: &[NumberedPlan]) -> Vec<(Option<usize>, String)> {
        let text = |plan: &Plan| plan.faults.iter().filter_map(|fault| fault.as_str()).collect::<String>();
        plans.iter().map(|numbered| (numbered.number, text(&numbered.plan))).collect()
    }

    #[test]
    fn known_plans_are_first_and_a_later_start_gives_the_same_plans_the_same_numbers() {
        let candidates = ["a", "b", "c"].map(plan).to_vec();
        let mut queue = PlanQueue::new(vec![plan("k")], candidates.clone(), 1);
        assert_eq!(queue.left(), 4);
        let all = texts(&queue.take(100, &BTreeSet::new()));
        let expected = [(None, "k"), (Some(1), "a"), (Some(2), "b"), (Some(3), "c")];
        let expected = expected.into_iter().chain([(Some(4), "ab"), (Some(5), "ac"), (Some(6), "bc")]);
        assert_eq!(all, expected.map(|(number, text)| (number, text.to_owned())).collect::<Vec<_>>());
        assert_eq!((queue.next(), queue.left()), (None, 0));
        for from in 1..=6 {
            let mut later = PlanQueue::new(Vec::new(), candidates.clone(), from);
            assert_eq!(texts(&later.take(100, &BTreeSet::new())), all[from..], "{from}");
        }
    }

    #[test]
    fn a_pair_with_a_candidate_that_did_not_strike_is_passed_over() {
        let mut queue = PlanQueue::new(Vec::new(), ["a", "b", "c"].map(plan).to_vec(), 1);
        assert_eq!(queue.take(3, &BTreeSet::new()).len(), 3);
        assert_eq!((queue.next(), queue.left()), (Some(4), 3));
        assert_eq!(texts(&queue.take(100, &[2].into())), [(Some(5), "ac".to_owned())]);
    }
}
