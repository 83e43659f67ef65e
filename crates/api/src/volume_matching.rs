//! Which volume is for which claim: the same for the controller that binds, and for the scheduler that binds later.
//!
//! In Kubernetes: `k8s.io/component-helpers/storage/volume`.

use std::collections::BTreeMap;

use coracle_meta::{LabelSelector, Quantity};

use crate::core_v1::{PersistentVolume, PersistentVolumeClaim};

/// The class under its older name, which comes first.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Says that claim and volume are bound to each other.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The amount of storage.
fn storage(amounts: &BTreeMap<String, Quantity>) -> Quantity {
    amounts.get("storage").copied().unwrap_or_else(|| Quantity::of(0))
}

impl PersistentVolumeClaim {
    /// The requested class; empty for no class.
    pub fn storage_class(&self) -> &str {
        let annotated = self.metadata.annotations.get(BETA_CLASS);
        annotated.or(self.spec.storage_class_name.as_ref()).map_or("", String::as_str)
    }

    /// Whether the claim says anything of its class: that it wants none, too.
    pub fn names_storage_class(&self) -> bool {
        self.metadata.annotations.contains_key(BETA_CLASS) || self.spec.storage_class_name.is_some()
    }

    /// The requested storage.
    pub fn requested_storage(&self) -> Quantity {
        storage(&self.spec.resources.requests)
    }

    /// Whether it has its volume.
    pub fn is_bound(&self) -> bool {
        !self.spec.volume_name.is_empty() && self.metadata.annotations.contains_key(BIND_COMPLETED)
    }

    /// The label selector for volumes; an invalid selector selects nothing.
    pub fn volume_selector(&self) -> LabelSelector {
        let selector = self.spec.selector.as_deref();
        selector.map_or_else(LabelSelector::everything, |selector| {
            selector.to_selector().unwrap_or_else(|_| LabelSelector::nothing())
        })
    }
}

impl PersistentVolume {
    /// The class of the volume; empty for none.
    pub fn storage_class(&self) -> &str {
        self.metadata.annotations.get(BETA_CLASS).unwrap_or(&self.spec.storage_class_name)
    }

    /// How much it holds.
    pub fn storage(&self) -> Quantity {
        storage(&self.spec.capacity)
    }

    /// Whether it is reserved for this claim, or bound to it.
    pub fn is_for(&self, claim: &PersistentVolumeClaim) -> bool {
        self.spec.claim_ref.as_ref().is_some_and(|reference| {
            Some(&reference.name) == claim.metadata.name.as_ref()
                && Some(&reference.namespace) == claim.metadata.namespace.as_ref()
                && (reference.uid.is_empty() || Some(&reference.uid) == claim.metadata.uid.as_ref())
        })
    }

    /// Whether one is a file system and the other a block device.
    pub fn differs_in_mode(&self, claim: &PersistentVolumeClaim) -> bool {
        let mode = |mode: &Option<String>| mode.as_deref().unwrap_or("Filesystem").to_owned();
        mode(&self.spec.volume_mode) != mode(&claim.spec.volume_mode)
    }

    /// Whether one wants attributes that the other has not.
    pub fn differs_in_attributes(&self, claim: &PersistentVolumeClaim) -> bool {
        let class = |class: &Option<String>| class.clone().unwrap_or_default();
        class(&self.spec.volume_attributes_class_name) != class(&claim.spec.volume_attributes_class_name)
    }

    /// Whether it has all requested access modes.
    pub fn has_modes_of(&self, claim: &PersistentVolumeClaim) -> bool {
        claim.spec.access_modes.iter().all(|mode| self.spec.access_modes.contains(mode))
    }

    /// What every volume for a claim needs, a reserved one, too.
    pub fn suits(&self, claim: &PersistentVolumeClaim) -> bool {
        self.storage() >= claim.requested_storage()
            && !self.differs_in_mode(claim)
            && !self.differs_in_attributes(claim)
            && !self.metadata.is_terminating()
    }

    /// The additional conditions for a volume without a reservation.
    pub fn is_free_for(&self, claim: &PersistentVolumeClaim, selector: &LabelSelector) -> bool {
        self.spec.claim_ref.is_none()
            && self.status.phase == "Available"
            && self.storage_class() == claim.storage_class()
            && selector.matches(&self.metadata.labels)
    }
}
