/// The component that is checked with a scenario if nothing else is said.
pub(crate) const COMPONENT: &str = "controller-manager";
/// The word of a condition that has to hold at every revision.
pub(crate) const INVARIANT: &str = "invariant";
/// The word of a condition that was not met.
pub(crate) const STEP: &str = "step";
