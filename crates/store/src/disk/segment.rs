use crate::disk::cleaning::Fill;
use crate::disk::entry::Placed;

/// One file of the log.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// The number of its first record: its name.
    pub(crate) first: u64,
    /// Its records that are not gone; known when the log was read.
    pub(crate) live: Vec<Placed>,
    /// The bytes of their entries.
    pub(crate) live_bytes: u64,
    /// The place after the last entry.
    pub(crate) bytes: u64,
}

impl Segment {
    pub(crate) fn new(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    pub(crate) fn add(&mut self, placed: Placed) {
        self.live.push(placed);
        self.live_bytes += placed.entry_bytes();
    }

    pub(crate) fn find(&self, number: u64) -> Option<Placed> {
        self.live.binary_search_by_key(&number, |placed| placed.number).ok().map(|index| self.live[index])
    }

    pub(crate) fn retain(&mut self, is_live: impl Fn(u64) -> bool) {
        self.live.retain(|placed| is_live(placed.number));
        self.live_bytes = self.live.iter().map(|placed| placed.entry_bytes()).sum();
    }

    pub(crate) fn fill(&self) -> Fill {
        Fill { bytes: self.bytes, live: self.live_bytes }
    }
}
