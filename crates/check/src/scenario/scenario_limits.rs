use super::accepted::Accepted;

/// What a search may use.
#[derive(Clone, Debug)]
pub(super) struct ScenarioLimits {
    /// The first seed.
    pub(super) seed: u64,
    /// How many plans are tried.
    pub(super) plans: usize,
    /// How many threads run them.
    pub(super) jobs: usize,
    /// How many runs without a fault there are.
    pub(super) faultless: u64,
    /// Whether the search ends with the first plan that breaks the component.
    pub(super) first_only: bool,
    /// How many runs may make one plan shorter.
    pub(super) shrinking: usize,
    /// Whether only plans that were found before are tried.
    pub(super) known_only: bool,
    /// The deviations that are no fault of the component.
    pub(super) accepted: Vec<Accepted>,
}
