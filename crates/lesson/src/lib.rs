//! Lessons: a question, a run that answers it, and captions that refer to entries of its event log.
//!
//! ```text
//! lessons/NAME.yaml --read (errors with file, line, column)--> Lesson --teach--> Taught --> terminal | page (`viewer`)
//! | document
//!     the run      --Record--> a caption finds its entry --> its text is filled from it --> its claim is true of it
//!     the contrast --Record--> the claims that it refutes are false in it
//! ```
//! Start at [`Lesson`], [`read::parse`] and [`teach`]. Captions, claims and the expressions in a text are CEL over
//! entries ([`file`]). A lesson cannot contain a statement that its run does not prove: a caption without its entry, or
//! a claim that is not true, is an error.
//!
//! An [`Exercise`] is a cluster that a scenario breaks, with claims that hold when a learner has repaired it.
//!
//! `lessons`, `exercises` and the scenario that lessons run are links to the folders at the root of the repository, so
//! that the package of this crate contains what it includes: Cargo packages the files behind links.
//!
//! Not here: scenarios (`scenario`), the log (`journal`), and the presentation of a lesson (`viewer`, `cli`).

mod difference;
mod duration;
mod environment;
mod exercise;
mod exercises;
/// The format of lesson files.
pub mod file;
mod finding;
mod lessons;
mod plan;
/// Reading and checking lesson files.
pub mod read;
mod record;
mod taught;
mod text;
mod verdict;

pub use exercise::{Exercise, ExerciseSpec, exercise_schema, parse_exercise, read_exercise};
pub use exercises::exercises;
pub use file::{Lesson, lesson_schema};
pub use lessons::lessons;
pub use taught::{Error, Taught, teach};
