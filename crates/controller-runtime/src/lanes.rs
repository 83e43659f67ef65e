use std::collections::{BTreeMap, VecDeque};

/// Things that are done several at a time, but one after the other where they are about the same object.
///
/// ```text
/// enter a1 -> a1      a: []           a1 begins
/// enter a2            a: [a2]         waits behind it
/// enter b1 -> b1      a: [a2] b: []   begins as well
/// leave a  -> a2      a: []   b: []
/// ```
/// Invariant: a lane is there as long as something in it is under way.
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
    /// Puts something into a lane; gives it back if it may begin.
    pub(crate) fn enter(&mut self, lane: &str, thing: T) -> Option<T> {
        if let Some(behind) = self.behind.get_mut(lane) {
            behind.push_back(thing);
            return None;
        }
        self.behind.insert(lane.to_owned(), VecDeque::new());
        Some(thing)
    }

    /// Notes that what was under way in a lane is done; gives what may begin now.
    pub(crate) fn leave(&mut self, lane: &str) -> Option<T> {
        let next = self.behind.get_mut(lane)?.pop_front();
        if next.is_none() {
            self.behind.remove(lane);
        }
        next
    }

    /// How many things wait behind others.
    pub(crate) fn waiting(&self) -> usize {
        self.behind.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_one_object_goes_one_after_the_other_and_the_rest_at_once() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.enter("a", 1), Some(1));
        assert_eq!((lanes.enter("a", 2), lanes.enter("a", 3), lanes.enter("b", 4)), (None, None, Some(4)));
        assert_eq!(lanes.waiting(), 2);
        assert_eq!((lanes.leave("a"), lanes.leave("b")), (Some(2), None));
        assert_eq!((lanes.leave("a"), lanes.leave("a")), (Some(3), None));
        assert_eq!(lanes.enter("a", 5), Some(5));
    }
}
