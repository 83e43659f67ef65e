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

use super::tool::ToolEntry;

/// The tools, in the order in which an agent reads them.
pub(super) const TOOLS: &[ToolEntry] = &[
    ToolEntry::of::<list_exercises::ListExercisesTool>(),
    ToolEntry::of::<start_exercise::StartExerciseTool>(),
    ToolEntry::of::<check_exercise::CheckExerciseTool>(),
    ToolEntry::of::<start_cluster::StartClusterTool>(),
    ToolEntry::of::<stop_cluster::StopClusterTool>(),
    ToolEntry::of::<get::GetTool>(),
    ToolEntry::of::<logs::LogsTool>(),
    ToolEntry::of::<why::WhyTool>(),
    ToolEntry::of::<apply::ApplyTool>(),
    ToolEntry::of::<create::CreateTool>(),
    ToolEntry::of::<patch::PatchTool>(),
    ToolEntry::of::<delete::DeleteTool>(),
    ToolEntry::of::<wait::WaitTool>(),
    ToolEntry::of::<advance_time::AdvanceTimeTool>(),
    ToolEntry::of::<settle::SettleTool>(),
    ToolEntry::of::<snapshot::SnapshotTool>(),
    ToolEntry::of::<reset::ResetTool>(),
    ToolEntry::of::<check::CheckTool>(),
    ToolEntry::of::<add_fault::AddFaultTool>(),
    ToolEntry::of::<remove_faults::RemoveFaultsTool>(),
];
