use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::EntryId;
use crate::names::{Name, Names};

/// How many of them are remembered.
const REMEMBERED: usize = 1 << 16;
/// The size of an audit id that is remembered, in bytes, at most. Clients choose them; generated ones are UUIDs.
const LONGEST_ID: usize = 256;

/// The entries that sent audited requests and watch events. A watch is identified by the audit id of its request.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// The audit ids.
    names: Names,
    entries: HashMap<Key, EntryId>,
    order: VecDeque<Key>,
}

/// An audit id and, for an event of a watch, its revision.
type Key = (Name, Option<i64>);

impl Sent {
    pub(crate) fn remember(&mut self, audit_id: &str, revision: Option<i64>, entry: EntryId) {
        if audit_id.len() > LONGEST_ID {
            return;
        }
        let key = (self.names.take(audit_id), revision);
        if self.entries.insert(key, entry).is_some() {
            return self.names.release(key.0);
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
            self.names.release(oldest.0);
        }
    }

    pub(crate) fn find(&self, audit_id: &str, revision: Option<i64>) -> Option<EntryId> {
        self.entries.get(&(self.names.find(audit_id)?, revision)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_id_that_is_too_long_is_not_remembered() {
        let mut sent = Sent::default();
        let (long, longest) = ("x".repeat(LONGEST_ID + 1), "x".repeat(LONGEST_ID));
        sent.remember(&long, None, EntryId(1));
        sent.remember(&longest, None, EntryId(2));
        assert_eq!((sent.find(&long, None), sent.find(&longest, None)), (None, Some(EntryId(2))));
    }

    #[test]
    fn the_newest_are_found_and_the_oldest_leave_no_name_behind() {
        let mut sent = Sent::default();
        let last = REMEMBERED as u64;
        for number in 0..=last {
            sent.remember(&number.to_string(), None, EntryId(number));
        }
        sent.remember("1", None, EntryId(7));
        sent.remember("2", Some(41), EntryId(8));
        assert_eq!(sent.find("0", None), None);
        assert_eq!(sent.find("1", None), None, "one more event made it the oldest");
        assert_eq!(sent.find("2", None), Some(EntryId(2)));
        assert_eq!(sent.find("2", Some(41)), Some(EntryId(8)));
        assert_eq!(sent.find(&last.to_string(), None), Some(EntryId(last)));
        assert!(sent.names.is_all_free_but(REMEMBERED - 1), "two are of the same watch");
    }
}
