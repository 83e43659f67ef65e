//! The examples as tests: each runs in virtual time and asserts what it prints. Read them one by one, in this order:
//!
//! ```text
//! kube_controller      a controller on kube-rs
//! runtime_controller   the same one on Coracle's own runtime, with its event log
//! custom_kind          a custom kind with a status
//! finalizer            an object that is removed only after something outside the cluster
//! leader_election      one of several copies acts
//! killed_component     a test in virtual time with a killed component
//! passing_week         a test that lets a week pass
//! bugs                 bugs of real controllers, each with the fault that shows it and a fixed twin
//! ```
//! Not here: a library.
#![cfg(test)]

mod bugs;
mod custom_kind;
mod finalizer;
mod killed_component;
mod kube_controller;
mod leader_election;
mod passing_week;
mod runtime_controller;

#[test]
fn a_controller_on_kube_rs_brings_back_what_it_owns() {
    kube_controller::main().unwrap();
}

#[test]
fn a_controller_on_our_runtime_writes_only_what_is_missing() {
    runtime_controller::main().unwrap();
}

#[test]
fn the_status_of_a_custom_kind_follows_its_spec_and_only_its_controller_writes_it() {
    custom_kind::main().unwrap();
}

#[test]
fn an_object_with_a_finalizer_goes_after_what_it_stands_for() {
    finalizer::main().unwrap();
}

#[test]
fn leadership_passes_when_a_lease_runs_out_and_at_once_when_it_is_given_up() {
    leader_election::main().unwrap();
}
