use std::collections::BTreeMap;

use coracle_api::pod_resources::Amounts;
use coracle_meta::Quantity;

/// The assumed CPU request of a container without one, in millicores, for scores.
const ASSUMED_MILLI_CPU: i64 = 100;
/// The assumed memory request of a container without one, in bytes, for scores.
const ASSUMED_MEMORY: i64 = 200 * 1024 * 1024;

/// Amounts are capped at 9 PB, so that the sum of a thousand pods is exact and subtraction reverses addition.
const MOST: i64 = i64::MAX >> 10;

/// Resource amounts of nodes and pods. In Kubernetes: `framework.Resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// CPU, in millicores.
    pub milli_cpu: i64,
    /// Memory, in bytes.
    pub memory: i64,
    /// Ephemeral storage, in bytes.
    pub ephemeral_storage: i64,
    /// All others by name: huge pages and extended resources.
    pub others: BTreeMap<String, i64>,
}

impl Resources {
    /// Converts quantities; names that do not matter here (`pods`, the storage of claims) are left out.
    pub fn of(amounts: &BTreeMap<String, Quantity>) -> Self {
        let mut resources = Self::default();
        for (name, amount) in amounts {
            match name.as_str() {
                "cpu" => resources.milli_cpu = amount.milli_value().min(MOST),
                "memory" => resources.memory = amount.value().min(MOST),
                "ephemeral-storage" => resources.ephemeral_storage = amount.value().min(MOST),
                other if is_scalar(other) => {
                    resources.others.insert(other.to_owned(), amount.value().min(MOST));
                }
                _ => {}
            }
        }
        resources
    }

    /// Adds amounts by name.
    pub fn add(&mut self, more: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_add(more.milli_cpu);
        self.memory = self.memory.saturating_add(more.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_add(more.ephemeral_storage);
        for (name, amount) in &more.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = own.saturating_add(*amount);
        }
    }

    /// Subtracts amounts by name.
    pub fn subtract(&mut self, less: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_sub(less.milli_cpu);
        self.memory = self.memory.saturating_sub(less.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_sub(less.ephemeral_storage);
        for (name, amount) in &less.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = own.saturating_sub(*amount);
        }
    }

    /// The amount of a resource; CPU in millicores.
    pub(crate) fn amount(&self, name: &ResourceName) -> i64 {
        match name {
            ResourceName::Cpu => self.milli_cpu,
            ResourceName::Memory => self.memory,
            ResourceName::EphemeralStorage => self.ephemeral_storage,
            ResourceName::Other(name) => self.others.get(name).copied().unwrap_or(0),
        }
    }

    /// Whether all amounts are zero.
    pub fn is_empty(&self) -> bool {
        self.milli_cpu == 0 && self.memory == 0 && self.ephemeral_storage == 0 && self.others.values().all(|n| *n == 0)
    }
}

/// The name of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceName {
    Cpu,
    Memory,
    EphemeralStorage,
    Other(String),
}

impl ResourceName {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether it is not one of the standard resources of every node.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Self::Other(_))
    }
}

/// The requests of a container, with assumed CPU and memory where they are missing.
pub(crate) fn with_assumed(mut asked: Amounts) -> Amounts {
    asked.entry("cpu".to_owned()).or_insert(Quantity::of_milli(ASSUMED_MILLI_CPU));
    asked.entry("memory".to_owned()).or_insert(Quantity::of(ASSUMED_MEMORY));
    asked
}

/// In Kubernetes: `v1helper.IsScalarResourceName`: extended resources, huge pages and attachable volumes.
fn is_scalar(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") || name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_amounts_are_added_and_taken_away_again() {
        let huge = Quantity::parse("1e100").unwrap();
        let names = ["cpu", "memory", "ephemeral-storage", "example.com/gpu"];
        let one = Resources::of(&names.map(|name| (name.to_owned(), huge)).into());
        let mut sum = Resources { milli_cpu: 5, memory: 7, ..Resources::default() };
        (0..1000).for_each(|_| sum.add(&one));
        assert!(sum.memory > one.memory);
        (0..1000).for_each(|_| sum.subtract(&one));
        assert_eq!((sum.milli_cpu, sum.memory, sum.ephemeral_storage), (5, 7, 0));
    }

    #[test]
    fn amounts_are_read_in_their_units_and_unknown_names_left_out() {
        let amounts = [("cpu", "1500m"), ("memory", "1Gi"), ("example.com/gpu", "2"), ("pods", "110")]
            .map(|(name, amount)| (name.to_owned(), Quantity::parse(amount).unwrap()));
        let resources = Resources::of(&amounts.into());
        assert_eq!((resources.milli_cpu, resources.memory), (1500, 1 << 30));
        assert_eq!(resources.others, BTreeMap::from([("example.com/gpu".to_owned(), 2)]));
    }
}
