//! Scenarios and faults that are drawn from a seed: each verdict is what the history of the store says, each run has one
//! log, and no fault changes what comes before it.

mod draw;
mod fault;
mod history;
mod judged;
mod twice;
mod undisturbed;

/// How many scenarios a test draws: the number in the environment variable, or the default.
fn count(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
