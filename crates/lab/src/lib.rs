//! The engine of the lab: a control plane behind messages, for a page that runs it in a WebAssembly worker.
//!
//! ```text
//! message (JSON) --Message--> Lab --verb--> LabCluster (its own SteppedRuntime) --> LabAnswer: JSON, and a payload
//!                              |              |--request, apply, console, step, faults--> the API, scenario steps
//!                              |              |--advance, next, settle--> virtual time
//!                              |              \--hello, entries--> what a page follows, as lines of an events file
//!                              \--run, whatIf, lesson--> whole runs, with a clock of their own
//! ```
//! Start at [`Lab`]. Not here: the exports of the WebAssembly module (`lab-wasm`), the page (`viewer`), and the words of
//! the console, which the program that makes a lab passes in ([`Console`]).

mod answer;
mod apply;
mod clock;
mod cluster_spec;
mod clusters;
mod console;
mod console_line;
mod error;
mod exercise_list;
mod exercises;
mod faults;
mod forks;
mod lab;
mod lab_cluster;
mod lessons;
mod log;
mod message;
mod open;
mod request;
mod runs;
mod scenarios;
mod steps;
mod what_if;

pub use console::{Console, Output};
pub use lab::Lab;
