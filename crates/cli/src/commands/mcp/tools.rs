//! The tools: one file each, and one line in [`TOOLS`].

mod add_fault;
mod advance_time;
mod apply;
mod check;
mod check_exercise;
mod create;
mod delete;
mod get;
mod list_exercises;
mod logs;
mod patch;
mod remove_faults;
mod reset;
mod settle;
mod snapshot;
mod start_cluster;
mod start_exercise;
mod stop_cluster;
mod wait;
mod why;

use super::tool::Entry;

/// The tools, in the order in which an agent reads them.
pub(super) const TOOLS: &[Entry] = &[
    Entry::of::<list_exercises::ListExercises>(),
    Entry::of::<start_exercise::StartExercise>(),
    Entry::of::<check_exercise::CheckExercise>(),
    Entry::of::<start_cluster::StartCluster>(),
    Entry::of::<stop_cluster::StopCluster>(),
    Entry::of::<get::Get>(),
    Entry::of::<logs::Logs>(),
    Entry::of::<why::Why>(),
    Entry::of::<apply::Apply>(),
    Entry::of::<create::Create>(),
    Entry::of::<patch::Patch>(),
    Entry::of::<delete::Delete>(),
    Entry::of::<wait::Wait>(),
    Entry::of::<advance_time::AdvanceTime>(),
    Entry::of::<settle::Settle>(),
    Entry::of::<snapshot::Snapshot>(),
    Entry::of::<reset::Reset>(),
    Entry::of::<check::Check>(),
    Entry::of::<add_fault::AddFault>(),
    Entry::of::<remove_faults::RemoveFaults>(),
];
