//! What the controllers of volumes share: what claims and volumes say of themselves.
//!
//! In Kubernetes: `k8s.io/component-helpers/storage/volume` and `pkg/controller/volume/common`.

mod classes;
mod in_tree;
mod protection;
mod used_by;

pub(crate) use classes::default_class;
pub(crate) use in_tree::{IN_TREE_PREFIX, csi_name, in_tree_name};
pub(crate) use protection::{is_concerned, is_shut_down, protect};
pub(crate) use used_by::{claims_of, ephemeral_claim, index_by_claim, pods_using};

/// Says that claim and volume are bound to each other.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Says that it was the controller that chose the one for the other.
pub(crate) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// The node for which the scheduler wants the claim's volume.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Who made a volume.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The driver that does what a part of Kubernetes did before.
pub(crate) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// Who shall make a volume for the claim.
pub(crate) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The same under its older name.
pub(crate) const BETA_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// The amount that is counted: of claims and of volumes.
pub(crate) const STORAGE: &str = "storage";
