use std::collections::{BTreeMap, BTreeSet};

use coracle_ambient::Timestamp;
use jiff::SignedDuration;

use super::signals::{Scarce, Signal};

/// How long a node keeps a pressure condition after the pressure has ended. In Kubernetes:
/// `evictionPressureTransitionPeriod`.
const TRANSITION: SignedDuration = SignedDuration::from_mins(5);

/// The pressure conditions that a node reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressed {
    pub(super) by: BTreeSet<Scarce>,
    /// Whether the node is being shut down.
    pub(crate) is_shutting_down: bool,
}

/// A condition of a Node: its type, status, reason and message.
pub(crate) type PressureCondition = (&'static str, &'static str, &'static str, &'static str);

/// The condition of a node with and without a pressure, each with the reason of its event.
struct Words {
    scarce: Scarce,
    short: PressureCondition,
    well: PressureCondition,
    events: [&'static str; 2],
}

const WORDS: [Words; 3] = [
    Words {
        scarce: Scarce::Memory,
        short: ("MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        well: ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        events: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
    },
    Words {
        scarce: Scarce::Disk,
        short: ("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
        well: ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        events: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
    },
    Words {
        scarce: Scarce::Pids,
        short: ("PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        well: ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        events: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
    },
];

impl Pressed {
    /// The pressure conditions of the Node.
    pub(crate) fn said(&self) -> [PressureCondition; 3] {
        WORDS.map(|words| if self.by.contains(&words.scarce) { words.short } else { words.well })
    }

    /// The reasons of the events for what has changed since `before`.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<&'static str> {
        let changed = WORDS.iter().filter(|words| self.by.contains(&words.scarce) != before.by.contains(&words.scarce));
        changed.map(|words| words.events[usize::from(!self.by.contains(&words.scarce))]).collect()
    }

    /// Whether memory is the only pressure.
    pub(crate) fn is_by_memory_alone(&self) -> bool {
        self.by.len() == 1 && self.by.contains(&Scarce::Memory)
    }

    /// Whether there is no pressure and no shutdown.
    pub(crate) fn is_none(&self) -> bool {
        self.by.is_empty() && !self.is_shutting_down
    }

    /// The names of the conditions, as Go prints a list.
    pub(crate) fn words(&self) -> String {
        let short = WORDS.iter().filter(|words| self.by.contains(&words.scarce)).map(|words| words.short.0);
        format!("[{}]", short.collect::<Vec<_>>().join(" "))
    }
}

/// The pressures of a node, and until when it reports each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pressure {
    /// When the node was last short of each resource; none while it is.
    seen: BTreeMap<Scarce, Option<Timestamp>>,
}

impl Pressure {
    /// Updates the pressures from the thresholds that are crossed now.
    pub(crate) fn observe(&mut self, signals: &[Signal], now: Timestamp) {
        for until in self.seen.values_mut() {
            until.get_or_insert(now);
        }
        self.seen.extend(signals.iter().map(|signal| (signal.scarce, None)));
        self.seen.retain(|_, until| until.is_none_or(|until| now.duration_since(until) < TRANSITION));
    }

    /// The pressure conditions that the node reports.
    pub(crate) fn pressed(&self) -> Pressed {
        Pressed { by: self.seen.keys().copied().collect(), is_shutting_down: false }
    }

    /// When a condition next changes although no usage changes.
    pub(crate) fn changes_at(&self) -> Option<Timestamp> {
        self.seen.values().filter_map(|until| until.and_then(|until| until.checked_add(TRANSITION).ok())).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_pressure_condition_lasts_five_minutes_after_the_last_shortage() {
        let (mut pressure, short) =
            (Pressure::default(), [Signal { scarce: Scarce::Memory, available: 1, threshold: 2 }]);
        pressure.observe(&short, at(0));
        assert_eq!((pressure.pressed().words().as_str(), pressure.changes_at()), ("[MemoryPressure]", None));
        pressure.observe(&[], at(100));
        assert_eq!(pressure.changes_at(), Some(at(400)));
        pressure.observe(&[], at(399));
        assert!(pressure.pressed().is_by_memory_alone());
        assert_eq!(pressure.pressed().said()[0].1, "True");
        assert_eq!(Pressed::default().changes_since(&pressure.pressed()), ["NodeHasSufficientMemory"]);
        pressure.observe(&[], at(400));
        assert!(pressure.pressed().is_none());
    }
}
