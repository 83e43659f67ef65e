use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds; each is twice the previous one. The last bucket is unbounded.
const BOUNDS: [u64; 14] =
    [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288];

/// A histogram of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// For each bucket its upper bound in microseconds, and the number of durations up to it.
    pub cumulative: Vec<(u64, u64)>,
    /// The number of durations.
    pub count: u64,
    /// Their sum, in microseconds.
    pub sum_micros: u64,
}

/// The statistics of a disk, which its owner records for status requests.
#[derive(Debug, Default)]
pub(crate) struct DiskStatistics {
    size: AtomicI64,
    /// A group of commits, from the first byte until it is durable.
    pub(crate) writes: Histogram,
    /// The part of it that waits for syncs.
    pub(crate) syncs: Histogram,
}

/// Counts durations, while others read the counts.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    classes: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    sum_micros: AtomicU64,
}

impl DiskStatistics {
    pub(crate) fn set_size(&self, bytes: i64) {
        self.size.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn size(&self) -> i64 {
        self.size.load(Ordering::Relaxed)
    }
}

impl Histogram {
    pub(crate) fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(class) = self.classes.get(class) {
            class.fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn latency(&self) -> Latency {
        let mut below = 0;
        let cumulative = BOUNDS.iter().zip(&self.classes).map(|(bound, class)| {
            below += class.load(Ordering::Relaxed);
            (*bound, below)
        });
        Latency {
            cumulative: cumulative.collect(),
            count: self.count.load(Ordering::Relaxed),
            sum_micros: self.sum_micros.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_counts_what_took_no_longer_than_its_bound() {
        let statistics = Histogram::default();
        for micros in [1, 64, 65, 1_000_000] {
            statistics.record(Duration::from_micros(micros));
        }
        let latency = statistics.latency();
        assert_eq!(latency.cumulative[..2], [(64, 2), (128, 3)]);
        assert_eq!((latency.cumulative.last(), latency.count), (Some(&(524_288, 3)), 4));
        assert_eq!(latency.sum_micros, 1_000_130);
    }
}
