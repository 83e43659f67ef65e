//! The binary as people use it: scenarios, a kubectl session, determinism, and a cluster split into processes.

mod determinism;
mod kubectl;
mod program;
mod scenarios;
mod split;
