//! What happens to a volume whose claim is deleted.

use coracle_api::core_v1::PersistentVolume;

use crate::volumes::{IN_TREE_PREFIX, MIGRATED_TO, PROVISIONED_BY, csi_name};

/// What happens to a volume whose claim is deleted.
#[derive(Debug, PartialEq)]
pub(super) enum Reclaim {
    /// It is kept, or an external provisioner deletes it.
    Keep,
    /// It is deleted.
    Delete,
    /// It fails: reason and message.
    Fail(&'static str, String),
}

/// The finalizer of volumes that an in-tree plugin deletes.
const IN_TREE_FINALIZER: &str = "kubernetes.io/pv-controller";
/// The finalizer of volumes that a CSI driver deletes.
const DRIVER_FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// What happens to a volume. In Kubernetes: `reclaimVolume`, `findDeletablePlugin`.
pub(super) fn reclaim(volume: &PersistentVolume) -> Reclaim {
    let annotations = &volume.metadata.annotations;
    if annotations.get(MIGRATED_TO).is_some_and(|driver| !driver.is_empty()) {
        return Reclaim::Keep;
    }
    match volume.spec.persistent_volume_reclaim_policy.as_str() {
        "Retain" => Reclaim::Keep,
        "Recycle" => Reclaim::Fail("VolumeFailedRecycle", "No recycler plugin found for the volume!".to_owned()),
        "Delete" => match annotations.get(PROVISIONED_BY).filter(|provisioner| !provisioner.is_empty()) {
            Some(provisioner) if !provisioner.starts_with(IN_TREE_PREFIX) => Reclaim::Keep,
            Some(provisioner) if provisioner != "kubernetes.io/host-path" => {
                fail(format!("no volume plugin matched name: {provisioner}"))
            }
            None if annotations.contains_key(MIGRATED_TO) || volume.spec.csi.is_some() => Reclaim::Keep,
            _ => delete(volume),
        },
        _ => {
            let message = "Volume has unrecognized PersistentVolumeReclaimPolicy";
            Reclaim::Fail("VolumeUnknownReclaimPolicy", message.to_owned())
        }
    }
}

/// Only hostPath volumes are deleted here, and only those below `/tmp`.
fn delete(volume: &PersistentVolume) -> Reclaim {
    let spec = &volume.spec;
    match &spec.host_path {
        Some(host_path) if host_path.path.split_once("/tmp/").is_some_and(|(_, rest)| !rest.is_empty()) => {
            Reclaim::Delete
        }
        Some(host_path) => {
            fail(format!("host_path deleter only supports /tmp/.+ but received provided {}", host_path.path))
        }
        None => {
            let name = volume.metadata.name.as_deref().unwrap_or_default();
            let is_known = spec.nfs.is_some() || spec.fc.is_some() || spec.iscsi.is_some();
            let why = if is_known { "no deletable volume plugin matched" } else { "no volume plugin matched" };
            fail(format!("error getting deleter volume plugin for volume {name:?}: {why}"))
        }
    }
}

fn fail(message: String) -> Reclaim {
    Reclaim::Fail("VolumeFailedDelete", message)
}

/// Annotates the CSI driver that replaces the volume's in-tree provisioner, and sets the finalizer of the component
/// that deletes it. In Kubernetes: `updateVolumeMigrationAnnotationsAndFinalizers`.
pub(super) fn migrate(volume: &mut PersistentVolume) {
    let meta = &mut volume.metadata;
    let Some(provisioner) = meta.annotations.get(PROVISIONED_BY) else { return };
    match csi_name(provisioner) {
        Some(driver) => {
            meta.annotations.insert(MIGRATED_TO.to_owned(), driver.to_owned());
            meta.finalizers.retain(|finalizer| finalizer != IN_TREE_FINALIZER);
        }
        None => {
            let is_in_tree = provisioner.starts_with(IN_TREE_PREFIX);
            if meta.annotations.get(MIGRATED_TO).is_some_and(|driver| !driver.is_empty()) {
                meta.annotations.remove(MIGRATED_TO);
            }
            if !is_in_tree {
                return;
            }
            let is_held = meta.finalizers.iter().any(|finalizer| finalizer == IN_TREE_FINALIZER);
            match volume.spec.persistent_volume_reclaim_policy.as_str() {
                "Delete" if !is_held => meta.finalizers.push(IN_TREE_FINALIZER.to_owned()),
                "Retain" | "Recycle" => meta.finalizers.retain(|finalizer| finalizer != IN_TREE_FINALIZER),
                _ => {}
            }
            meta.finalizers.retain(|finalizer| finalizer != DRIVER_FINALIZER);
        }
    }
}

/// Removes the finalizer of a deleted volume.
pub(super) fn let_go(volume: &mut PersistentVolume) {
    volume.metadata.finalizers.retain(|finalizer| finalizer != IN_TREE_FINALIZER);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(policy: &str, path: Option<&str>) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some("v".to_owned());
        policy.clone_into(&mut volume.spec.persistent_volume_reclaim_policy);
        let host_path = |path: &str| {
            Box::new(coracle_api::core_v1::HostPathVolumeSource { path: path.to_owned(), ..Default::default() })
        };
        volume.spec.host_path = path.map(host_path);
        volume
    }

    #[test]
    fn the_policy_and_the_kind_of_volume_decide() {
        assert_eq!(reclaim(&volume("Retain", Some("/tmp/a"))), Reclaim::Keep);
        assert_eq!(reclaim(&volume("Delete", Some("/tmp/a"))), Reclaim::Delete);
        let message = "host_path deleter only supports /tmp/.+ but received provided /srv/a";
        assert_eq!(reclaim(&volume("Delete", Some("/srv/a"))), Reclaim::Fail("VolumeFailedDelete", message.to_owned()));
        assert!(matches!(reclaim(&volume("Delete", None)), Reclaim::Fail("VolumeFailedDelete", _)));
        assert!(matches!(reclaim(&volume("Burn", None)), Reclaim::Fail("VolumeUnknownReclaimPolicy", _)));
        let mut csi = volume("Delete", None);
        csi.spec.csi = Some(Box::default());
        assert_eq!(reclaim(&csi), Reclaim::Keep);
    }

    #[test]
    fn volumes_of_kubernetes_own_are_held_and_those_of_a_driver_named() {
        let provisioned = |provisioner: &str, policy: &str| {
            let mut volume = volume(policy, None);
            volume.metadata.annotations.insert(PROVISIONED_BY.to_owned(), provisioner.to_owned());
            migrate(&mut volume);
            let again = volume.clone();
            migrate(&mut volume);
            assert_eq!(volume, again);
            (volume.metadata.finalizers, volume.metadata.annotations.get(MIGRATED_TO).cloned())
        };
        let held = vec![IN_TREE_FINALIZER.to_owned()];
        assert_eq!(provisioned("kubernetes.io/host-path", "Delete"), (held, None));
        assert_eq!(provisioned("kubernetes.io/host-path", "Retain"), (Vec::new(), None));
        let driver = Some("pd.csi.storage.gke.io".to_owned());
        assert_eq!(provisioned("kubernetes.io/gce-pd", "Delete"), (Vec::new(), driver));
        assert_eq!(provisioned("csi.example.com", "Delete"), (Vec::new(), None));
    }
}
