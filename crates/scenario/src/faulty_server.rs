/// What runs with an API server that has faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultyServer {
    /// Components and simulated nodes.
    Cluster,
    /// Nothing, so no fault acts on components or nodes.
    ApiServer,
}
