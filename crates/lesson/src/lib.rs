//! Lessons: a question, a run that answers it, and captions that are bound to entries of its event log.
//!
//! ```text
//! lessons/NAME.yaml --read (refused with file, line, column)--> Lesson --teach--> Taught --> terminal | page (`viewer`) | document
//!     the run      --Record--> a caption finds its entry --> its text is filled from it --> its claim is true of it
//!     the contrast --Record--> the claims that it refutes are false in it
//! ```
//! Start at [`Lesson`], [`read::parse`] and [`teach`]. Captions, claims and the words in a text are CEL over entries ([`file`]).
//! Nothing that a lesson says is written down beside a run: a caption without its entry, or a claim that is not true, is an error.
//! Not here: scenarios (`scenario`), the log (`journal`), and how a lesson looks (`viewer`, `cli`).

mod environment;
/// What a lesson file may say.
pub mod file;
mod finding;
mod lessons;
mod plan;
/// Reading and checking lesson files.
pub mod read;
mod record;
mod taught;
mod text;

pub use file::Lesson;
pub use lessons::{lessons, missing};
pub use taught::{Error, Taught, teach};
