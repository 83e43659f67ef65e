//! Scenario files: what a cluster goes through, what has to hold meanwhile, and the report of it.
//!
//! ```text
//! FILE --read (refused with file, line, column)--> Scenario --run--> Report --> terminal
//!                                                     \-- always, never: checked at every revision
//! ```
//! Start at [`Scenario`] and [`parse::read`].
//! Not here: the cluster (`cluster`), the objects at each revision and how checks look at them (`sim`).

/// What a scenario file may say.
pub mod file;
mod lanes;
mod mode;
/// Reading and checking scenario files.
pub mod parse;
mod story;

pub use file::Scenario;
pub use lanes::{LEGEND, lanes};
pub use mode::{Mode, NotAMode};
pub use parse::{Problem, Vocabulary};
pub use story::{NothingToTell, sentence, story};
