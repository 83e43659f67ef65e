//! The volume manager: mounts the volumes of pods on a node.
//!
//! ```text
//! pod --populator (asks for claims, volumes)--> DesiredStateOfWorld --\
//!                                                                     reconciler (pure) --> Work --> OperationExecutor
//! disk --reconstruction--> ActualStateOfWorld ------------------------/                                   |
//!                                  ^--------------------- MountVolume, UnmountDevice, ... <---------------/
//! ```
//! Start at [`VolumeManager::sync`]: a pass over a pod advances its volumes as far as possible, and returns when to
//! retry. Mounted volumes are on the [`Disk`] of the machine, which outlives the kubelet. There is no polling: a pod is
//! enqueued when it or its node changes, and when an operation ends or may be retried.
//!
//! In Kubernetes: `pkg/kubelet/volumemanager`, `pkg/volume/util/operationexecutor`, `pkg/volume/csi`.
//!
//! Not here: what the driver's controllers do (`csi`), which controller requests attachment (`controllers`).

mod actual_state;
mod backoff;
mod claimed;
mod content;
mod desired_state;
mod disk;
mod executor;
mod expansion;
mod in_use;
mod manager;
mod node_context;
mod operation_results;
mod operations;
mod outcome;
mod plugins;
mod populator;
mod reconciler;
mod spec;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use disk::{Disk, SavedVolume};
pub(crate) use manager::VolumeManager;
pub(crate) use node_context::{NodeContext, Progress, VolumeGoal};
