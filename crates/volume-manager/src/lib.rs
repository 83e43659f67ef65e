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
//! enqueued when it or its node changes, and when an operation ends or may be retried. CSI drivers are found by name in
//! [`DriversStore`](coracle_kubelet_api::DriversStore), and called through their
//! [`NodeService`](coracle_kubelet_api::NodeService).
//!
//! In Kubernetes: `pkg/kubelet/volumemanager`, `pkg/volume/util/operationexecutor`, `pkg/volume/csi`.
//!
//! Not here: what a driver does (`csi-driver`), which controller requests attachment (`controllers`), when a pod's
//! volumes are mounted (`kubelet`).

mod in_use;
mod lookup;
mod manager;
mod node_context;
mod operation;
mod reconciler;
mod state;
#[cfg(test)]
mod tests;
mod world;

pub use manager::VolumeManager;
pub use node_context::{NodeContext, Progress, VolumeGoal};
pub use world::disk::{Disk, SavedVolume};
