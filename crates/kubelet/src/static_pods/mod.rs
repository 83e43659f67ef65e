//! Static pods: pods that a node runs from manifests on its disk, and their mirrors in the API.
//!
//! ```text
//! ManifestFolder --every 20 s--> manifest (pure): a Pod with uid, name and annotations --> StaticPods: wanted, ending
//!                                        mirror (pure): what the API shows of it <--PodWorkers::reconcile--/
//! ```
//! A static pod and its mirror share one key; the uid of the pod is the hash of its manifest, and the API assigns that
//! of the mirror.
//! In Kubernetes: `pkg/kubelet/config/file.go`, `pkg/kubelet/pod/mirror_client.go`.

mod bound;
mod defaults;
mod folder;
mod manifest;
mod mirror;
mod table;

pub(crate) use bound::Bound;
pub use folder::{Manifest, ManifestFolder, ManifestSource, MemoryManifests};
pub(crate) use manifest::static_pod;
pub(crate) use mirror::{is_mirror, is_mirror_of, mirror_of};
pub(crate) use table::{Called, StaticPods};
