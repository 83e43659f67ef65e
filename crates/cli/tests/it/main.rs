//! The binary as people use it: scenarios, a kubectl session, determinism, a cluster split into processes,
//! and TLS towards the store.

mod course;
mod determinism;
mod down;
mod exec;
mod exercises;
mod exit_codes;
mod fault_cluster;
mod fault_effects;
mod faults;
mod full_disk;
mod full_output;
mod keys;
mod kubectl;
mod kubectl_nodes;
mod kubectl_releases;
mod learn;
mod many_runs;
mod new;
mod node_restriction;
mod nodes;
mod private_files;
mod program;
mod program_networks;
mod refusals;
mod replay;
mod scenarios;
mod several;
mod snapshot;
mod split;
mod state;
mod store_tls;
mod two_runs;
mod validate;
mod view;
mod walk;
