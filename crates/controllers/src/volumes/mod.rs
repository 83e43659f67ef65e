//! What the volume controllers share: annotations of claims and volumes, classes, and protection.
//!
//! In Kubernetes: `k8s.io/component-helpers/storage/volume` and `pkg/controller/volume/common`.

mod classes;
mod in_tree;
mod protection;
mod unused;
mod used_by;

pub(crate) use classes::default_class;
pub(crate) use in_tree::{IN_TREE_PREFIX, csi_name, in_tree_name};
pub(crate) use protection::{is_concerned, is_shut_down, protect};
pub(crate) use unused::{has_unused, is_terminated, unused};
pub(crate) use used_by::{claims_of, ephemeral_claim, index_by_claim, pods_using};

/// The binding of claim and volume is complete.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The controller chose the volume or the claim, not a user.
pub(crate) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// The node that the scheduler selected for the claim's volume.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The provisioner of a volume.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The CSI driver that replaces an in-tree plugin.
pub(crate) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// The provisioner that must create a volume for the claim.
pub(crate) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The same under its older name.
pub(crate) const BETA_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// The resource of claims and volumes: their size.
pub(crate) const STORAGE: &str = "storage";
