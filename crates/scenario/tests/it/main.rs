//! Scenarios that are run whole: what they end as, what they cost, and what their logs are.

mod changed;
mod conflicts;
mod disturbances;
mod disturbed;
mod drawn;
mod economy;
mod faults;
mod harness;
mod log;
mod moments;
mod releases;
mod repeated;
mod running_faults;
mod skew;
mod vacuous;
mod verdicts;
mod words;
mod writing;
