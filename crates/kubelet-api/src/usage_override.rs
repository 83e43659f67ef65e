use std::collections::BTreeMap;

/// The usage of a container as objects of KWOK state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageOverride {
    /// In billionths of a core.
    pub cpu: Option<u64>,
    /// In bytes.
    pub memory: Option<u64>,
}

/// What objects of KWOK state about the usage of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageOverrides {
    /// By the names of containers.
    pub of_containers: BTreeMap<String, UsageOverride>,
    /// What could not be evaluated, and why.
    pub faults: Vec<String>,
}
