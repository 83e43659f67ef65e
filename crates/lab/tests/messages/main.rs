//! The messages of the lab.

mod bad_input;
mod clusters;
mod console;
mod forks;
mod page;
mod runs;
mod steps;
mod support;
