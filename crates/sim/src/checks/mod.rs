//! Checks: what no correct controller does, as pure functions of the event log of a run.
//!
//! ```text
//! event log --RunLog::of--> requests, writes, ends of components
//!                             \-- Run (+ why it did not settle, when it was at rest, what was shown)
//! Run, runs without a fault --CHECKS: one file each--> Findings (broken | differs | wasteful)
//! ```
//!
//! Start at [`CHECKS`] for what exists, and at [`findings`] for how they are asked. `docs/checks.md` is made from
//! [`CHECKS`]. To add one, add a file with a constant and a line in `list.rs`.
//! Not here: what runs a controller, and the faults that make a check fail (crate `check`).

mod breaks_property;
mod check;
mod children;
mod difference;
#[cfg(test)]
mod document;
mod end_state;
mod ends_differently;
mod fails_work;
mod foreign_object;
mod generations;
mod hot_loop;
mod leaves_behind;
mod list;
mod lists_again;
mod lost_lease;
mod more_children;
mod moves_transition_times;
mod never_settles;
mod observed_generation;
mod panics;
mod run;
mod run_log;
mod stuck_finalizer;
#[cfg(test)]
mod tests;
mod unseen_incarnation;
mod writes_after_restart;
mod writes_nothing;
mod writes_refused;

pub use breaks_property::BREAKS_PROPERTY;
pub use check::{Check, Finding, Grade, Violation};
pub use fails_work::FAILS_WORK;
pub use list::{CHECKS, findings};
pub use panics::PANICS;
pub use run::{BrokenProperty, Run, SentObjects};
pub use run_log::{LoggedRequest, LoggedStop, LoggedWrite, RunLog, STAGES};
