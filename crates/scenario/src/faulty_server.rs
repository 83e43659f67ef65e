/// What faults of a running server can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultyServer {
    /// Whether components and simulated nodes run with it. None do with an API server alone.
    pub has_components: bool,
    /// Whether its store is in the memory of its process, so that it can be killed, slowed and filled.
    pub has_store_in_memory: bool,
}

impl FaultyServer {
    /// A cluster with its store in memory.
    pub const CLUSTER: Self = Self { has_components: true, has_store_in_memory: true };
}
