//! The simulated programs of containers: a POSIX-like shell, a few well-known commands, and what these programs see.
//!
//! ```text
//! pod --references--> ConfigMaps, Secrets, fetched by the caller --> Sources
//! Sources, pod, container, PodFacts --Sources::world (pure)--> World: environment, files, folders
//! World, command --transcript, run (pure)--> Transcript: lines with their times, the end and its code
//! ```
//! Start at [`transcript`], which runs the program of a container, and at [`Sources`]. No process is executed: the whole
//! output is computed when the program starts. [`Shell`] runs the lines that a user types.
//!
//! Not here: when a container starts (`kubelet`), how its output reaches a client (`kubelet`).

mod image;
mod mounted_files;
mod process_arguments;
mod programs;
mod sources;

pub use process_arguments::Variables;
pub use programs::{OutputLine, Shell, Stop, Transcript, World, is_known, is_prompt, run, transcript};
pub use sources::{PodFacts, ProjectedSource, Reference, SourceKind, Sources, Texts, references, text_of};
