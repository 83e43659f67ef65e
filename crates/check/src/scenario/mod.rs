//! A search for faults that break a cluster's own components, with a scenario as the work.
//!
//! ```text
//! ScenarioCheck (a scenario, a component)
//!    |
//! runs without a fault --sites--> requests of the component and of the user, the kinds that change
//!    |                                |
//!    |                            candidates, and mixes of them that the seed draws
//!    v                                |
//! ScenarioTrial: all steps, rest, <---/ --> Run --sim::checks--> and the scenario's own verdict --> Deviations
//! a restart, rest                               \-- without what is accepted, with its reason
//! ```
//!
//! Start at [`ScenarioCheck`]; [`ScenarioReport`] is what a search returns.

mod accepted;
mod deviation;
mod requesters;
mod scenario_check;
mod scenario_limits;
mod scenario_report;
mod scenario_search;
mod scenario_trial;
mod sites;

pub use accepted::Accepted;
pub use scenario_check::ScenarioCheck;
pub use scenario_report::ScenarioReport;
