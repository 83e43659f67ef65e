use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::{KeyRange, Revision};

/// The number of a cursor in the index.
pub(crate) type CursorId = usize;

/// Which cursors wait for which keys, so that a commit finds exactly the cursors that it concerns.
///
/// Cursors of one range form a group. A group lists only its idle members: a commit removes them all and wakes them,
/// and the next commits find the list empty until a member has caught up and returns.
#[derive(Debug, Default)]
pub(crate) struct Interests {
    cursors: Vec<Option<Cursor>>,
    free: Vec<CursorId>,
    keys: BTreeMap<Bytes, Group>,
    /// Ranges that are a prefix: those that contain a key are found through the key's prefixes.
    prefixes: BTreeMap<Bytes, Group>,
    /// All other ranges, checked one by one.
    ranges: BTreeMap<KeyRange, Group>,
}

#[derive(Debug, Default)]
struct Group {
    members: usize,
    idle: Vec<CursorId>,
}

#[derive(Debug)]
struct Cursor {
    range: KeyRange,
    wake: Arc<Notify>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All events up to a revision have been delivered; the place in the group's list.
    Idle { place: usize, delivered: Revision },
    /// Woken by this revision: no earlier change concerns the cursor.
    Woken { by: Revision },
    /// Reading, at a position that only the cursor knows.
    Reading,
}

impl Interests {
    /// Adds a cursor that is reading.
    pub(crate) fn add(&mut self, range: KeyRange, wake: Arc<Notify>) -> CursorId {
        self.group(&range).members += 1;
        let cursor = Some(Cursor { range, wake, state: State::Reading });
        if let Some(id) = self.free.pop() {
            self.cursors[id] = cursor;
            return id;
        }
        self.cursors.push(cursor);
        self.cursors.len() - 1
    }

    /// Removes a cursor.
    pub(crate) fn remove(&mut self, id: CursorId) {
        self.leave_idle(id);
        let Some(cursor) = self.cursors[id].take() else { return };
        self.free.push(id);
        let group = self.group(&cursor.range);
        group.members -= 1;
        if group.members == 0 {
            match kind(&cursor.range) {
                Kind::Key => self.keys.remove(&cursor.range.start),
                Kind::Prefix => self.prefixes.remove(&cursor.range.start),
                Kind::Range => self.ranges.remove(&cursor.range),
            };
        }
    }

    /// The cursor has all changes and waits; its last batch ended at `delivered`.
    pub(crate) fn park(&mut self, id: CursorId, delivered: Revision) {
        let Some(cursor) = &mut self.cursors[id] else { return };
        if matches!(cursor.state, State::Idle { .. }) {
            return;
        }
        let range = cursor.range.clone();
        let idle = &mut self.group(&range).idle;
        let place = idle.len();
        idle.push(id);
        self.set(id, State::Idle { place, delivered });
    }

    pub(crate) fn is_idle(&self, id: CursorId) -> bool {
        matches!(self.cursors[id], Some(Cursor { state: State::Idle { .. }, .. }))
    }

    /// The revision up to which an idle cursor has received all changes; none has come since.
    pub(crate) fn delivered(&self, id: CursorId) -> Option<Revision> {
        match self.cursors[id].as_ref()?.state {
            State::Idle { delivered, .. } => Some(delivered),
            State::Woken { .. } | State::Reading => None,
        }
    }

    /// The revision that woke a cursor; returned only once.
    pub(crate) fn woken_by(&mut self, id: CursorId) -> Option<Revision> {
        match self.cursors[id].as_ref()?.state {
            State::Woken { by } => {
                self.set(id, State::Reading);
                Some(by)
            }
            State::Idle { .. } | State::Reading => None,
        }
    }

    /// A key changed at `revision`: collects the wake-up handles of the idle cursors that it concerns.
    pub(crate) fn touch(&mut self, key: &[u8], revision: Revision, woken: &mut Vec<Arc<Notify>>) {
        let Self { cursors, keys, prefixes, ranges, .. } = self;
        let mut wake = |group: &mut Group| {
            for id in group.idle.drain(..) {
                if let Some(cursor) = &mut cursors[id] {
                    cursor.state = State::Woken { by: revision };
                    woken.push(cursor.wake.clone());
                }
            }
        };
        if let Some(group) = keys.get_mut(key) {
            wake(group);
        }
        // All prefixes of a key are prefixes of each other. Downwards from the key, the greatest entry at or below
        // the bound is either one of them, or its common prefix with the key limits the next one.
        let mut bound = key;
        while let Some((prefix, group)) =
            prefixes.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(bound))).next_back()
        {
            let common = prefix.iter().zip(key).take_while(|(left, right)| left == right).count();
            if common == prefix.len() {
                wake(group);
                let Some(shorter) = common.checked_sub(1) else { break };
                bound = &key[..shorter];
            } else {
                bound = &key[..common];
            }
        }
        for (range, group) in ranges.iter_mut() {
            if !group.idle.is_empty() && range.contains(key) {
                wake(group);
            }
        }
    }

    /// The number of cursors, and of those with changes to fetch.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let cursors = self.cursors.iter().flatten();
        cursors.fold((0, 0), |(all, lagging), cursor| {
            (all + 1, lagging + usize::from(!matches!(cursor.state, State::Idle { .. })))
        })
    }

    fn set(&mut self, id: CursorId, state: State) {
        if let Some(cursor) = &mut self.cursors[id] {
            cursor.state = state;
        }
    }

    fn leave_idle(&mut self, id: CursorId) {
        let Some(Cursor { range, state: State::Idle { place, .. }, .. }) = &self.cursors[id] else { return };
        let (range, place) = (range.clone(), *place);
        let idle = &mut self.group(&range).idle;
        idle.swap_remove(place);
        let Some(moved) = idle.get(place).copied() else { return };
        if let Some(Cursor { state: State::Idle { place: its_place, .. }, .. }) = &mut self.cursors[moved] {
            *its_place = place;
        }
    }

    fn group(&mut self, range: &KeyRange) -> &mut Group {
        match kind(range) {
            Kind::Key => self.keys.entry(range.start.clone()).or_default(),
            Kind::Prefix => self.prefixes.entry(range.start.clone()).or_default(),
            Kind::Range => self.ranges.entry(range.clone()).or_default(),
        }
    }
}

enum Kind {
    Key,
    Prefix,
    Range,
}

fn kind(range: &KeyRange) -> Kind {
    if range.end.is_empty() {
        Kind::Key
    } else if KeyRange::prefix(range.start.clone()).end == range.end {
        Kind::Prefix
    } else {
        Kind::Range
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touched(interests: &mut Interests, key: &[u8]) -> Vec<CursorId> {
        interests.touch(key, 2, &mut Vec::new());
        let count = interests.cursors.len();
        (0..count).filter(|id| interests.woken_by(*id).is_some()).collect()
    }

    fn any_key() -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(prop_oneof![Just(0_u8), Just(b'a'), Just(b'b'), Just(0xff)], 0..5)
            .prop_map(Bytes::from)
    }

    fn any_range() -> impl Strategy<Value = KeyRange> {
        prop_oneof![
            any_key().prop_map(KeyRange::key),
            any_key().prop_map(KeyRange::prefix),
            (any_key(), any_key()).prop_map(|(start, end)| KeyRange { start, end }),
        ]
    }

    proptest! {
        #[test]
        fn a_change_wakes_exactly_the_idle_cursors_whose_range_holds_its_key(
            ranges in proptest::collection::vec(any_range(), 0..12),
            gone in proptest::collection::vec(any::<bool>(), 12),
            keys in proptest::collection::vec(any_key(), 1..8),
        ) {
            let mut interests = Interests::default();
            for range in &ranges {
                let id = interests.add(range.clone(), Arc::default());
                interests.park(id, 0);
            }
            let mut expected: Vec<Option<&KeyRange>> = ranges.iter().map(Some).collect();
            for id in (0..ranges.len()).filter(|id| gone[*id]) {
                interests.remove(id);
                expected[id] = None;
            }
            for key in keys {
                let woken = touched(&mut interests, &key);
                let right: Vec<CursorId> = (0..expected.len())
                    .filter(|id| expected[*id].is_some_and(|range| range.contains(&key)))
                    .collect();
                prop_assert_eq!(&woken, &right);
                woken.into_iter().for_each(|id| interests.park(id, 0));
            }
            (0..ranges.len()).filter(|id| !gone[*id]).for_each(|id| interests.remove(id));
            prop_assert!(interests.keys.is_empty() && interests.prefixes.is_empty() && interests.ranges.is_empty());
        }
    }

    #[test]
    fn a_busy_cursor_is_woken_once() {
        let mut interests = Interests::default();
        let id = interests.add(KeyRange::prefix("a"), Arc::default());
        interests.park(id, 0);
        let mut woken = Vec::new();
        interests.touch(b"a1", 5, &mut woken);
        interests.touch(b"a2", 6, &mut woken);
        assert_eq!(woken.len(), 1);
        assert_eq!(interests.woken_by(id), Some(5));
    }
}
