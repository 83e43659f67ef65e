//! Finds the volume of a claim.

use coracle_api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use coracle_api::storage_v1::CSIDriver;
use coracle_client::{Api, Client};
use coracle_kubelet_api::{DriversStore, NodeService, VolumeContext};
use coracle_meta::{ObjectKey, Quantity, Resource};

use crate::lookup::plugins::{Plugin, absent, persistent};
use crate::world::spec::{CsiVolume, Driver, PodUid, UniqueName, VolumeSource, VolumeSpec};

const PROTECTION: &str = "kubernetes.io/pvc-protection";
const STORAGE: &str = "storage";

/// The volume spec of a claim.
///
/// # Errors
/// The error in the words of the kubelet. In Kubernetes: `createVolumeSpec`.
pub(crate) async fn claimed(
    client: &Client,
    drivers: &DriversStore,
    node: Option<&Node>,
    pod: &Pod,
    uid: &PodUid,
    volume: &Volume,
) -> Result<VolumeSpec, String> {
    let name = match &volume.persistent_volume_claim {
        Some(source) => source.claim_name.clone(),
        None => format!("{}-{}", pod.key().name, volume.name),
    };
    let key = ObjectKey::new(pod.key().namespace, name);
    let failed = |why: String| format!("error processing PVC {}/{}: {why}", key.namespace, key.name);
    let claim = Api::<PersistentVolumeClaim>::of(client).get(&key).await;
    let claim = claim.map_err(|error| failed(format!("failed to fetch PVC from API server: {error}")))?;
    usable(&claim).map_err(|why| failed(why.to_owned()))?;
    let is_own =
        || claim.metadata.owner_references.iter().any(|owner| owner.controller == Some(true) && *owner.uid == **uid);
    if volume.ephemeral.is_some() && !is_own() {
        let pod = pod.key();
        return Err(format!("PVC {key} was not created for pod {pod} (pod is not owner)"));
    }
    let name = claim.spec.volume_name.as_str();
    let found = Api::<PersistentVolume>::of(client).get(&ObjectKey::cluster(name)).await;
    let found = found.map_err(|error| failed(format!("failed to fetch PV {name} from API server: {error}")))?;
    bound(&found, &claim).map_err(failed)?;
    let is_block = found.spec.volume_mode.as_deref() == Some("Block");
    let is_used = |devices: bool| is_used(pod, &volume.name, devices);
    if is_block && is_used(false) {
        return Err(format!("volume {} has volumeMode Block, but is specified in volumeMounts", volume.name));
    }
    if !is_block && is_used(true) {
        return Err(format!("volume {} has volumeMode Filesystem, but is specified in volumeDevices", volume.name));
    }
    let is_attachable = match &found.spec.csi {
        Some(source) => {
            let driver = Api::<CSIDriver>::of(client).find(&ObjectKey::cluster(source.driver.as_str())).await;
            let driver = driver.map_err(|error| error.to_string())?;
            driver.is_none_or(|driver| driver.spec.attach_required != Some(false))
        }
        None => false,
    };
    spec(&found, &claim, drivers, node, uid, is_attachable)
}

/// Whether a pod may use a claim in its current state.
fn usable(claim: &PersistentVolumeClaim) -> Result<(), &'static str> {
    let is_protected = claim.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    match claim.spec.volume_name.as_str() {
        _ if claim.metadata.is_terminating() && !is_protected => Err("PVC is being deleted"),
        _ if claim.status.phase != "Bound" => Err("PVC is not bound"),
        "" => Err("PVC has empty pvc.Spec.VolumeName"),
        _ => Ok(()),
    }
}

/// Whether a volume is bound to a claim as well.
fn bound(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Result<(), String> {
    let name = volume.key().name;
    let Some(reference) = &volume.spec.claim_ref else {
        let why = "but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim";
        return Err(format!("found PV object {name} {why}"));
    };
    let uid = claim.metadata.uid.as_deref().unwrap_or_default();
    if reference.uid == uid {
        return Ok(());
    }
    let theirs = &reference.uid;
    Err(format!("found PV object {name} but its pv.Spec.ClaimRef.UID {theirs} does not point to claim.UID {uid}"))
}

fn is_used(pod: &Pod, volume: &str, devices: bool) -> bool {
    let mut all = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    if devices {
        all.any(|container| container.volume_devices.iter().any(|device| device.name == volume))
    } else {
        all.any(|container| container.volume_mounts.iter().any(|mount| mount.name == volume))
    }
}

fn spec(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
    drivers: &DriversStore,
    node: Option<&Node>,
    uid: &PodUid,
    is_attachable: bool,
) -> Result<VolumeSpec, String> {
    let name = volume.key().name;
    let unique = |text: String| UniqueName(text.into());
    let terms = volume.spec.node_affinity.as_deref().and_then(|affinity| affinity.required.as_deref());
    let is_reachable = match (terms, node) {
        (Some(required), Some(node)) => required.node_selector_terms.iter().any(|term| term.matches(node)),
        _ => true,
    };
    let Some(source) = &volume.spec.csi else {
        return match persistent(&volume.spec) {
            Plugin::Host(plugin) if !is_reachable => {
                Err(format!("{plugin}: volume {name} cannot be reached from this node: no matching NodeSelectorTerms"))
            }
            Plugin::Host(plugin) => {
                let unique_name = unique(format!("{plugin}/{uid}-{name}"));
                Ok(VolumeSpec { name, unique_name, source: VolumeSource::Host })
            }
            Plugin::Absent(sort) => Err(absent(sort)),
            _ => Err(absent("unknown")),
        };
    };
    let modes = &volume.spec.access_modes;
    let csi = CsiVolume {
        driver: Driver {
            name: source.driver.clone(),
            annotations: annotations(drivers.get(&source.driver), claim, volume),
        },
        handle: source.volume_handle.clone(),
        is_attachable,
        is_for_one_pod: modes.len() == 1 && modes[0] == "ReadWriteOncePod",
        is_block: volume.spec.volume_mode.as_deref() == Some("Block"),
        is_reachable,
        claim: claim.key(),
        growth: growth(claim, volume),
    };
    let unique_name = unique(format!("kubernetes.io/csi/{}^{}", source.driver, source.volume_handle));
    Ok(VolumeSpec { name, unique_name, source: VolumeSource::Csi(Box::new(csi)) })
}

/// The annotations that set the driver's behaviour: those of the claim take precedence.
fn annotations(
    service: Option<&dyn NodeService>,
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> VolumeContext {
    let Some(service) = service else { return VolumeContext::new() };
    let mut annotations = service.volume_context(&volume.metadata.annotations);
    annotations.extend(service.volume_context(&claim.metadata.annotations));
    annotations
}

/// The size of the volume and the size in the claim's status, if the node has to expand the file system.
fn growth(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Option<(Quantity, Quantity)> {
    let status = claim.status.allocated_resource_statuses.get(STORAGE)?;
    let is_pending = matches!(status.as_str(), "NodeResizePending" | "NodeResizeInProgress");
    let has = claim.status.capacity.get(STORAGE).copied()?;
    (is_pending && volume.storage() > has).then(|| (volume.storage(), has))
}
