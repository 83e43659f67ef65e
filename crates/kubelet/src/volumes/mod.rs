//! What a node does with the volumes of its pods.
//!
//! ```text
//! pod --populator (asks for claims, volumes)--> DesiredStateOfWorld --\
//!                                                                     reconciler (pure) --> Work --> OperationExecutor
//! disk --reconstruction--> ActualStateOfWorld ------------------------/                                   |
//!                                  ^--------------------- MountVolume, UnmountDevice, ... <---------------/
//! ```
//! Start at [`VolumeManager::sync`]: a pass over a pod takes its volumes as far as they go, and says when to come again. What
//! a node has mounted is on its [`Disk`], which outlives the kubelet. Nothing here polls: a pod is looked at when it or its
//! node changes, and when an operation ends or may be tried again.
//! In Kubernetes: `pkg/kubelet/volumemanager`, `pkg/volume/util/operationexecutor`, `pkg/volume/csi`.
//! Not here: what the driver's controllers do (`csi`), who asks for attachment (`controllers`).

mod actual_state;
mod backoff;
mod came_of;
mod claimed;
mod content;
mod desired_state;
mod disk;
mod executor;
mod expansion;
mod in_use;
mod manager;
mod operations;
mod outcome;
mod plugins;
mod populator;
mod reconciler;
mod site;
mod spec;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use disk::{Disk, SavedVolume};
pub(crate) use manager::VolumeManager;
pub(crate) use site::{Progress, Site, Wish};
