use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::EntryId;
use crate::names::{Name, Names};

/// How many of them can still be found.
const REMEMBERED: usize = 1 << 16;

/// Which entry sent what: audited requests, and events of watches, which go by the audit id of the request that opened them.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    entries: HashMap<Key, EntryId>,
    order: VecDeque<Key>,
}

/// An audit id, and of a watch's event its revision.
type Key = (Name, Option<i64>);

impl Sent {
    pub(crate) fn remember(&mut self, names: &mut Names, audit_id: &str, revision: Option<i64>, entry: EntryId) {
        let key = (names.take(audit_id), revision);
        if self.entries.insert(key, entry).is_some() {
            return names.release(key.0);
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
            names.release(oldest.0);
        }
    }

    pub(crate) fn find(&self, names: &Names, audit_id: &str, revision: Option<i64>) -> Option<EntryId> {
        self.entries.get(&(names.find(audit_id)?, revision)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_found_and_the_oldest_leave_no_name_behind() {
        let (mut names, mut sent) = (Names::default(), Sent::default());
        let last = REMEMBERED as u64;
        for number in 0..=last {
            sent.remember(&mut names, &number.to_string(), None, EntryId(number));
        }
        sent.remember(&mut names, "1", None, EntryId(7));
        sent.remember(&mut names, "2", Some(41), EntryId(8));
        assert_eq!(sent.find(&names, "0", None), None);
        assert_eq!(sent.find(&names, "1", None), None, "one more event made it the oldest");
        assert_eq!(sent.find(&names, "2", None), Some(EntryId(2)));
        assert_eq!(sent.find(&names, "2", Some(41)), Some(EntryId(8)));
        assert_eq!(sent.find(&names, &last.to_string(), None), Some(EntryId(last)));
        assert!(names.is_all_free_but(REMEMBERED - 1), "two are of the same watch");
    }
}
