use coracle_api::core_v1::Node;
use coracle_meta::Quantity;
use coracle_node_usage::MOST_PIDS;

use crate::NodeReading;

/// The resources that a node can be short of, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scarce {
    Memory,
    Disk,
    Pids,
}

impl Scarce {
    /// The name in events and messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "ephemeral-storage",
            Self::Pids => "pids",
        }
    }
}

/// A crossed threshold: less of a resource is available than there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) scarce: Scarce,
    pub(crate) available: u64,
    pub(crate) threshold: u64,
}

/// `memory.available<100Mi`
const LEAST_MEMORY: u64 = 100 << 20;
/// `imagefs.available<15%`. Images share the disk with everything else, so this is crossed before
/// `nodefs.available<10%`.
const LEAST_DISK_PERCENT: u64 = 15;
/// A threshold for processes; Kubernetes has no default one.
const LEAST_PIDS_PERCENT: u64 = 5;

/// The crossed thresholds. In Kubernetes: `thresholdsMet`, with `DefaultEvictionHard`.
pub(crate) fn signals(node: &Node, reading: &NodeReading) -> Vec<Signal> {
    let capacity = |resource: &str| {
        let amount = node.status.capacity.get(resource).copied().map(Quantity::value);
        amount.and_then(|amount| u64::try_from(amount).ok()).filter(|amount| *amount > 0)
    };
    let share =
        |capacity: u64, percent: u64| u64::try_from(u128::from(capacity) * u128::from(percent) / 100).unwrap_or(0);
    let signal = |scarce, capacity: Option<u64>, used: u64, threshold: &dyn Fn(u64) -> u64| {
        let capacity = capacity?;
        let (available, threshold) = (capacity.saturating_sub(used), threshold(capacity));
        (available < threshold).then_some(Signal { scarce, available, threshold })
    };
    let all = [
        signal(Scarce::Memory, capacity("memory"), reading.memory, &|_| LEAST_MEMORY),
        signal(Scarce::Disk, capacity("ephemeral-storage"), reading.storage, &|all| share(all, LEAST_DISK_PERCENT)),
        signal(Scarce::Pids, Some(MOST_PIDS), reading.pids, &|all| share(all, LEAST_PIDS_PERCENT)),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use coracle_ambient::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_under_pressure_below_its_threshold() {
        let capacity = json!({"memory": "1Gi", "ephemeral-storage": "100"});
        let node: Node = serde_json::from_value(json!({"status": {"capacity": capacity}})).unwrap();
        let at = Timestamp::UNIX_EPOCH;
        let reading = |memory, storage, pids| NodeReading {
            at,
            started: at,
            cpu: 0,
            cpu_now: 0,
            memory,
            storage,
            pids,
            pods: Vec::new(),
        };
        assert_eq!(signals(&node, &reading((1024 - 100) << 20, 85, 100)), []);
        let short = signals(&node, &reading((1024 - 99) << 20, 86, MOST_PIDS));
        assert_eq!(
            short.iter().map(|signal| signal.scarce.word()).collect::<Vec<_>>(),
            ["memory", "ephemeral-storage", "pids"]
        );
        assert_eq!((short[1].available, short[1].threshold), (14, 15));
    }
}
