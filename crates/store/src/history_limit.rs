use crate::snapshot::Snapshot;

/// How many bytes of history a store keeps, whatever the age of the history.
///
/// A store keeps as much history as it has live data, but at least `least` and at most `most` bytes. So clients that
/// change a little data again and again cannot fill the memory of the process, and a store with much data still lets
/// slow watches catch up. Unlike Kubernetes: etcd limits history only by time or by revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimit {
    /// Bytes that every store may keep.
    pub least: u64,
    /// Bytes that no store keeps more of.
    pub most: u64,
}

impl HistoryLimit {
    /// The limit of a store that has `live` bytes of live data.
    pub(crate) fn bytes(self, live: i64) -> i64 {
        let clamp = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
        live.max(clamp(self.least)).min(clamp(self.most))
    }

    pub(crate) fn is_exceeded(self, snapshot: &Snapshot) -> bool {
        snapshot.history_bytes() > self.bytes(snapshot.live_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_size_of_the_live_data_between_its_bounds() {
        let limit = HistoryLimit { least: 10, most: 20 };
        assert_eq!([0, 10, 15, 20, 30].map(|live| limit.bytes(live)), [10, 10, 15, 20, 20]);
    }
}
