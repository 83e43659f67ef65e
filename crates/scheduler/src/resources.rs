use std::collections::BTreeMap;

use coracle_api::pod_resources::Amounts;
use coracle_meta::Quantity;

/// What a container that asks for no cpu is taken to use when nodes are compared, in thousandths.
const ASSUMED_MILLI_CPU: i64 = 100;
/// What a container that asks for no memory is taken to use when nodes are compared, in bytes.
const ASSUMED_MEMORY: i64 = 200 * 1024 * 1024;

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
                "cpu" => resources.milli_cpu = amount.milli_value(),
                "memory" => resources.memory = amount.value(),
                "ephemeral-storage" => resources.ephemeral_storage = amount.value(),
                other if is_scalar(other) => {
                    resources.others.insert(other.to_owned(), amount.value());
                }
                _ => {}
            }
        }
        resources
    }

    /// Adds, name by name.
    pub fn add(&mut self, more: &Self) {
        self.milli_cpu += more.milli_cpu;
        self.memory += more.memory;
        self.ephemeral_storage += more.ephemeral_storage;
        for (name, amount) in &more.others {
            *self.others.entry(name.clone()).or_default() += amount;
        }
    }

    /// Takes away, name by name.
    pub fn subtract(&mut self, less: &Self) {
        self.milli_cpu -= less.milli_cpu;
        self.memory -= less.memory;
        self.ephemeral_storage -= less.ephemeral_storage;
        for (name, amount) in &less.others {
            *self.others.entry(name.clone()).or_default() -= amount;
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
    fn amounts_are_read_in_their_units_and_unknown_names_left_out() {
        let amounts = [("cpu", "1500m"), ("memory", "1Gi"), ("example.com/gpu", "2"), ("pods", "110")]
            .map(|(name, amount)| (name.to_owned(), Quantity::parse(amount).unwrap()));
        let resources = Resources::of(&amounts.into());
        assert_eq!((resources.milli_cpu, resources.memory), (1500, 1 << 30));
        assert_eq!(resources.others, BTreeMap::from([("example.com/gpu".to_owned(), 2)]));
    }
}
