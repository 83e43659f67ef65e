use std::collections::VecDeque;

use crate::EntryId;

/// How many commits are remembered.
const REMEMBERED: usize = 1 << 16;

/// The entries that record the commit of each revision; the oldest are dropped. They are in the order of revisions,
/// except for a few entries about a store in another process.
#[derive(Debug, Default)]
pub(crate) struct Commits(VecDeque<(i64, EntryId)>);

impl Commits {
    pub(crate) fn add(&mut self, revision: i64, entry: EntryId) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        let place = self.0.partition_point(|(known, _)| *known <= revision);
        self.0.insert(place, (revision, entry));
    }

    pub(crate) fn of(&self, revision: i64) -> Vec<EntryId> {
        let from = self.0.partition_point(|(known, _)| *known < revision);
        self.0.range(from..).take_while(|(known, _)| *known == revision).map(|(_, entry)| *entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_has_the_entries_of_its_commit_until_it_is_forgotten() {
        let mut commits = Commits::default();
        for (revision, entry) in [(2, 1), (3, 2), (5, 3), (3, 4)] {
            commits.add(revision, EntryId(entry));
        }
        assert_eq!(commits.of(3), [EntryId(2), EntryId(4)]);
        assert_eq!((commits.of(4), commits.of(6)), (vec![], vec![]));
        (6..).take(REMEMBERED).for_each(|revision| commits.add(revision, EntryId(7)));
        assert_eq!((commits.of(5), commits.of(6)), (vec![], vec![EntryId(7)]));
    }
}
