//! Scenario files: what a cluster goes through, what has to hold meanwhile, and the report of it.
//!
//! ```text
//! FILE --read (refused with file, line, column)--> Scenario --execute--> Report --> terminal
//!                                                     \-- always, never: checked at every revision
//! event log --lanes, story--> pictures and sentences
//! ```
//! Start at [`Scenario`], [`parse::read`] and [`execute`].
//! Not here: the cluster (`cluster`), the objects at each revision and how checks look at them (`sim`).

mod disturbance;
mod end_state;
mod execute;
/// What a scenario file may say.
pub mod file;
mod lanes;
mod maintenance;
mod mode;
mod objects;
/// Reading and checking scenario files.
pub mod parse;
mod report;
mod run;
mod sentence;
mod steps;
mod story;
mod taint;
mod vocabulary;
mod wait;

pub use disturbance::{Disturbance, NotADisturbance};
pub use execute::{Options, execute};
pub use file::Scenario;
pub use lanes::{LEGEND, lanes};
pub use maintenance::drain;
pub use mode::{Mode, NotAMode};
pub use parse::{Problem, Vocabulary};
pub use report::{Check, Counts, Failure, Outcome, Report};
pub use sentence::sentence;
pub use story::{NothingToTell, Telling, story};
pub use taint::new_taint;
pub use vocabulary::BuiltIn;
