use std::collections::{BTreeMap, VecDeque};

/// Runs tasks concurrently, except for tasks about the same object, which run one after the other.
///
/// ```text
/// enter a1 -> a1      a: []           a1 starts
/// enter a2            a: [a2]         waits for a1
/// enter b1 -> b1      a: [a2] b: []   starts too
/// leave a  -> a2      a: []   b: []
/// ```
/// Invariant: a lane exists as long as one of its tasks is running.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    behind: BTreeMap<String, VecDeque<T>>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { behind: BTreeMap::new() }
    }
}

impl<T> Lanes<T> {
    /// Adds a task to a lane; returns it if it may start.
    pub(crate) fn enter(&mut self, lane: &str, thing: T) -> Option<T> {
        if let Some(behind) = self.behind.get_mut(lane) {
            behind.push_back(thing);
            return None;
        }
        self.behind.insert(lane.to_owned(), VecDeque::new());
        Some(thing)
    }

    /// Records that the running task of a lane has ended; returns the task that may start now.
    pub(crate) fn leave(&mut self, lane: &str) -> Option<T> {
        let next = self.behind.get_mut(lane)?.pop_front();
        if next.is_none() {
            self.behind.remove(lane);
        }
        next
    }

    /// How many tasks wait for others.
    pub(crate) fn waiting(&self) -> usize {
        self.behind.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_one_object_is_sequential_and_other_work_concurrent() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.enter("a", 1), Some(1));
        assert_eq!((lanes.enter("a", 2), lanes.enter("a", 3), lanes.enter("b", 4)), (None, None, Some(4)));
        assert_eq!(lanes.waiting(), 2);
        assert_eq!((lanes.leave("a"), lanes.leave("b")), (Some(2), None));
        assert_eq!((lanes.leave("a"), lanes.leave("a")), (Some(3), None));
        assert_eq!(lanes.enter("a", 5), Some(5));
    }
}
