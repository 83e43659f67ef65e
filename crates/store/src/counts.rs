//! The number of keys in a range, without iterating over it.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::Mutex;

use crate::{KeyRange, RangeRequest, RangeResponse, Revision};

/// Deeper or longer prefixes are not counted, so that a key that consists of slashes costs no more than others.
const MOST_SLASHES: usize = 8;
const LONGEST_PREFIX: usize = 256;

/// The number of keys under each prefix that ends with a slash. Clones share their common parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrefixCounts(OrdMap<Bytes, i64>);

impl PrefixCounts {
    /// The counts of sorted keys: a prefix that many keys share is handled once.
    pub(crate) fn of_sorted<'a>(keys: impl Iterator<Item = &'a Bytes>) -> Self {
        let mut counts = OrdMap::new();
        let mut open: Vec<(&[u8], i64)> = Vec::new();
        let mut close = |(prefix, count): (&[u8], i64)| {
            counts.insert(Bytes::copy_from_slice(prefix), count);
        };
        for key in keys {
            while open.last().is_some_and(|(prefix, _)| !key.starts_with(prefix)) {
                open.pop().map(&mut close);
            }
            let (known, from) = (open.len(), open.last().map_or(0, |(prefix, _)| prefix.len()));
            open.extend(prefixes_after(key, from).take(MOST_SLASHES - known).map(|prefix| (prefix, 0)));
            open.iter_mut().for_each(|(_, count)| *count += 1);
        }
        open.into_iter().for_each(close);
        Self(counts)
    }

    /// Adds a key (1) or removes it (-1).
    pub(crate) fn add(&mut self, key: &[u8], change: i64) {
        for prefix in prefixes(key) {
            match self.0.get_mut(prefix) {
                Some(count) if *count + change == 0 => drop(self.0.remove(prefix)),
                Some(count) => *count += change,
                // A slice of the key would keep its whole buffer alive.
                None => drop(self.0.insert(Bytes::copy_from_slice(prefix), change)),
            }
        }
    }

    /// The number of keys in a range, if the range is a counted prefix.
    pub(crate) fn of(&self, range: &KeyRange) -> Option<i64> {
        let parent = range.start.strip_suffix(b"/")?;
        let is_whole = range.end.strip_suffix(b"0") == Some(parent);
        let is_counted = prefixes(&range.start).last() == Some(&range.start[..]);
        (is_whole && is_counted).then(|| self.0.get(&range.start[..]).copied().unwrap_or(0))
    }
}

/// The counted prefixes of a key.
fn prefixes(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    prefixes_after(key, 0).take(MOST_SLASHES)
}

/// Those longer than `from`.
fn prefixes_after(key: &[u8], from: usize) -> impl Iterator<Item = &[u8]> {
    (from..key.len().min(LONGEST_PREFIX)).filter(|at| key[*at] == b'/').map(|at| &key[..=at])
}

/// The number of keys after a page that was returned: the next request of a client needs it.
#[derive(Debug, Default)]
pub(crate) struct PageCounts(Mutex<BTreeMap<Page, i64>>);

/// The revision, the start of the page, and the end of the range.
type Page = (Revision, Bytes, Bytes);

impl PageCounts {
    const MOST: usize = 4096;
    const LONGEST_KEY: usize = 1024;

    /// The number of keys from the start of this page on, if it follows a page that was returned.
    pub(crate) fn of(&self, request: &RangeRequest) -> Option<i64> {
        if request.revision <= 0 || request.limit <= 0 {
            return None;
        }
        let page = (request.revision, request.range.start.clone(), request.range.end.clone());
        self.0.lock().get(&page).copied()
    }

    /// Records what follows a page that was read at `revision`.
    pub(crate) fn remember(&self, request: &RangeRequest, revision: Revision, response: &RangeResponse) {
        let Some(last) = response.kvs.last().filter(|_| response.more && request.is_plain()) else { return };
        if last.key.len() + request.range.end.len() > Self::LONGEST_KEY {
            return;
        }
        let next = Bytes::from([&last.key[..], &[0]].concat());
        let left = response.count - i64::try_from(response.kvs.len()).unwrap_or(i64::MAX);
        let mut pages = self.0.lock();
        pages.insert((revision, next, Bytes::copy_from_slice(&request.range.end)), left);
        while pages.len() > Self::MOST {
            pages.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(keys: &[&str]) -> PrefixCounts {
        let mut counts = PrefixCounts::default();
        keys.iter().for_each(|key| counts.add(key.as_bytes(), 1));
        counts
    }

    #[test]
    fn every_prefix_that_ends_with_a_slash_is_counted() {
        let mut counts = counts(&["/pods/a/1", "/pods/a/2", "/pods/b/1", "/nodes/1", "plain"]);
        let count = |counts: &PrefixCounts, prefix: &'static str| counts.of(&KeyRange::prefix(prefix));
        assert_eq!(["/", "/pods/", "/pods/a/", "/none/"].map(|prefix| count(&counts, prefix)), [4, 3, 2, 0].map(Some));
        counts.add(b"/pods/a/1", -1);
        assert_eq!(count(&counts, "/pods/a/"), Some(1));
        counts.add(b"/pods/a/2", -1);
        assert_eq!((count(&counts, "/pods/a/"), counts.0.contains_key(&b"/pods/a/"[..])), (Some(0), false));
    }

    #[test]
    fn keys_in_their_order_are_counted_as_they_are_one_by_one() {
        let mut keys = ["/a", "/a/", "/a//", "/a/b/1", "/a/b/2", "/a/c", "/ab/1", "b", "b/1", "c/d/e/f", "//"];
        keys.sort_unstable();
        let bytes = keys.map(Bytes::from);
        assert_eq!(PrefixCounts::of_sorted(bytes.iter()).0, counts(&keys).0);
    }

    #[test]
    fn ranges_without_a_prefix_are_not_counted() {
        let counts = counts(&["/pods/a/1"]);
        let others = [
            KeyRange::prefix("/pods"),
            KeyRange::key("/pods/"),
            KeyRange { start: "/pods/".into(), end: "/pods/b".into() },
            KeyRange { start: "/pods/".into(), end: "\0".into() },
            KeyRange::prefix("/".repeat(MOST_SLASHES + 1)),
            KeyRange::prefix("a".repeat(LONGEST_PREFIX) + "/"),
        ];
        assert!(others.iter().all(|range| counts.of(range).is_none()));
    }

    #[test]
    fn a_key_of_only_slashes_costs_no_more_than_others() {
        let counts = counts(&["/".repeat(1 << 20).as_str()]);
        assert_eq!(counts.0.len(), MOST_SLASHES);
    }
}
