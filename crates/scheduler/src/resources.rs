use std::collections::BTreeMap;

use coracle_api::pod_resources::Amounts;
use coracle_meta::Quantity;

/// What a container that asks for no cpu is taken to use when nodes are compared, in thousandths.
const ASSUMED_MILLI_CPU: i64 = 100;
/// What a container that asks for no memory is taken to use when nodes are compared, in bytes.
const ASSUMED_MEMORY: i64 = 200 * 1024 * 1024;

/// No amount counts for more: 9 PB. So the sum of a thousand pods is exact, and what is added can be taken away again.
const MOST: i64 = i64::MAX >> 10;

/// Amounts of what a node has and a pod asks for. In Kubernetes: `framework.Resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Processor time, in thousandths of a core.
    pub milli_cpu: i64,
    /// Memory, in bytes.
    pub memory: i64,
    /// Local disk, in bytes.
    pub ephemeral_storage: i64,
    /// All others by name: huge pages and what devices offer.
    pub others: BTreeMap<String, i64>,
}

impl Resources {
    /// From a map of quantities; names without meaning here (`pods`, storage of claims) are left out.
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

    /// Adds, name by name.
    pub fn add(&mut self, more: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_add(more.milli_cpu);
        self.memory = self.memory.saturating_add(more.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_add(more.ephemeral_storage);
        for (name, amount) in &more.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = own.saturating_add(*amount);
        }
    }

    /// Takes away, name by name.
    pub fn subtract(&mut self, less: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_sub(less.milli_cpu);
        self.memory = self.memory.saturating_sub(less.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_sub(less.ephemeral_storage);
        for (name, amount) in &less.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = own.saturating_sub(*amount);
        }
    }

    /// How much there is of one; cpu in thousandths.
    pub(crate) fn amount(&self, name: &ResourceName) -> i64 {
        match name {
            ResourceName::Cpu => self.milli_cpu,
            ResourceName::Memory => self.memory,
            ResourceName::EphemeralStorage => self.ephemeral_storage,
            ResourceName::Other(name) => self.others.get(name).copied().unwrap_or(0),
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.milli_cpu == 0 && self.memory == 0 && self.ephemeral_storage == 0 && self.others.values().all(|n| *n == 0)
    }
}

/// One thing of which there are amounts.
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

    /// Whether it is not of the kind that every node has.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Self::Other(_))
    }
}

/// What a container asks for, with an assumed amount of cpu and memory where it names none.
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
