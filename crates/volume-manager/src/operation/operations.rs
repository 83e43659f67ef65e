//! What each volume operation does, and the message if it fails.
//!
//! In Kubernetes: `pkg/volume/util/operationexecutor/operation_generator.go` and `pkg/volume/csi`.

use std::fmt::Write;
use std::time::Duration;

use coracle_api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::VolumeAttachment;
use coracle_client::{Api, Client};
use coracle_controller_runtime::ReconcileError;
use coracle_kubelet_api::{CallEnd, NodeCall, NodeService, VolumeContext};
use coracle_meta::{ObjectKey, Resource};
use sha2::{Digest, Sha256};

use crate::node_context::NodeContext;
use crate::operation::expansion;
use crate::operation::outcome::{OperationOutcome, Performed};
use crate::reconciler::{VolumeOperation, Work};
use crate::world::spec::{CsiVolume, Driver, VolumeSpec};

/// How long a call on the node may take. In Kubernetes: `csiTimeout`.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Performs a piece of work. `pod` is the pod of the pass; none if it is gone.
pub(crate) async fn perform(
    context: &NodeContext<'_>,
    pod: Option<&Pod>,
    work: &Work,
) -> Result<Performed, ReconcileError> {
    let spec = work.spec.as_ref();
    Ok(match work.operation {
        VolumeOperation::VerifyControllerAttachedVolume => Performed::at_once(verify(context, spec).await?),
        VolumeOperation::MountDevice => mount_device(context, spec).await,
        VolumeOperation::MountVolume => mount(context, pod, spec).await,
        VolumeOperation::ExpandVolume => expand(context, spec).await?,
        VolumeOperation::UnmountVolume => {
            let failed = |why: &str| format!("UnmountVolume.TearDown failed for volume {:?} : {why}", spec.name);
            called(context, spec, NodeCall::NodeUnpublishVolume, &failed).await
        }
        VolumeOperation::UnmountDevice => {
            let failed = |why: &str| format!("UnmountDevice failed for volume {:?} : {why}", spec.name);
            called(context, spec, NodeCall::NodeUnstageVolume, &failed).await
        }
        VolumeOperation::MarkVolumeAsDetached => Performed::at_once(OperationOutcome::Done),
    })
}

/// Whether the volume is attached to this node. The node's status must show it as attached and as in use.
async fn verify(context: &NodeContext<'_>, spec: &VolumeSpec) -> Result<OperationOutcome, ReconcileError> {
    if !spec.is_attachable() {
        return Ok(OperationOutcome::Done);
    }
    let key = ObjectKey::cluster(context.node);
    let is_attached = |node: &Node| {
        let name = &*spec.unique_name.0;
        node.status.volumes_in_use.iter().any(|one| one == name)
            && node.status.volumes_attached.iter().any(|one| one.name == name)
    };
    // A request is only needed if the cache shows the volume as attached; the cache may be stale.
    if context.nodes.get(&key).is_none_or(|node| !is_attached(&node)) {
        return Ok(OperationOutcome::Waits);
    }
    let node = Api::<Node>::of(context.client()).get(&key).await?;
    Ok(if is_attached(&node) { OperationOutcome::Done } else { OperationOutcome::Waits })
}

async fn mount_device(context: &NodeContext<'_>, spec: &VolumeSpec) -> Performed {
    let Some(volume) = spec.csi() else { return Performed::at_once(OperationOutcome::Done) };
    let name = &spec.name;
    if !volume.is_reachable {
        let why = "no matching NodeSelectorTerms";
        return Performed::failed(format!("MountVolume.NodeAffinity check failed for volume {name:?} : {why}"));
    }
    if volume.is_attachable
        && let Err(why) = wait_for_attach(context, volume).await
    {
        return Performed::failed(format!("MountVolume.WaitForAttach failed for volume {name:?} : {why}"));
    }
    let verb = if volume.is_block { "MapVolume.SetUpDevice" } else { "MountVolume.MountDevice" };
    let failed = |why: &str| format!("{verb} failed for volume {name:?} : {why}");
    if let Some(why) = unregistered(context, &volume.driver, "attacher.MountDevice failed to create newCsiDriverClient")
    {
        return Performed::failed(failed(&why));
    }
    called(context, spec, NodeCall::NodeStageVolume, &failed).await
}

/// In Kubernetes: `csiAttacher.WaitForAttach`, which asks for the VolumeAttachment by its name.
async fn wait_for_attach(context: &NodeContext<'_>, volume: &CsiVolume) -> Result<(), String> {
    let id = attachment_name(&volume.handle, &volume.driver.name, context.node);
    let handle = &volume.handle;
    let found = Api::<VolumeAttachment>::of(context.client()).get(&ObjectKey::cluster(id.as_str())).await;
    let found = found.map_err(|why| format!("volume {handle} has GET error for volume attachment {id}: {why}"))?;
    if found.metadata.is_terminating() {
        return Err("volume attachment is being deleted".to_owned());
    }
    if let Some(error) = &found.status.attach_error {
        return Err(error.message.clone());
    }
    if found.status.attached {
        Ok(())
    } else {
        Err(format!("volume {handle} is not attached for volume attachment {id}"))
    }
}

/// The name of the VolumeAttachment of a volume and a node. In Kubernetes: `getAttachmentName`.
fn attachment_name(handle: &str, driver: &str, node: &str) -> String {
    let digest = Sha256::digest(format!("{handle}{driver}{node}"));
    digest.iter().fold("csi-".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

async fn mount(context: &NodeContext<'_>, pod: Option<&Pod>, spec: &VolumeSpec) -> Performed {
    let is_block = spec.csi().is_some_and(|volume| volume.is_block);
    let verb = if is_block { "MapVolume.MapPodDevice" } else { "MountVolume.SetUp" };
    let failed = |why: &str| format!("{verb} failed for volume {:?} : {why}", spec.name);
    let volume = pod.and_then(|pod| pod.spec.volumes.iter().find(|volume| volume.name == spec.name));
    if let Some(why) = volume.and_then(context.lacks) {
        return Performed::failed(failed(&why));
    }
    let Some(driver) = spec.driver() else { return Performed::at_once(OperationOutcome::Done) };
    if let Some(why) = unregistered(context, driver, "mounter.SetUpAt failed to get CSI client") {
        return Performed::failed(failed(&why));
    }
    called(context, spec, NodeCall::NodePublishVolume, &failed).await
}

async fn expand(context: &NodeContext<'_>, spec: &VolumeSpec) -> Result<Performed, ReconcileError> {
    let Some(volume) = spec.csi() else { return Ok(Performed::at_once(OperationOutcome::Done)) };
    if expansion::begin(context.pass, &volume.claim).await?.is_none() {
        return Ok(Performed::at_once(OperationOutcome::Done));
    }
    let failed = |why: &str| format!("NodeExpandVolume.NodeExpandVolume failed for volume {:?} : {why}", spec.name);
    Ok(called(context, spec, NodeCall::NodeExpandVolume, failed).await)
}

/// The error if the driver is not registered on this node.
fn unregistered(context: &NodeContext<'_>, driver: &Driver, what: &str) -> Option<String> {
    let is_registered = context.drivers.get(&driver.name).is_some();
    let name = &driver.name;
    (!is_registered).then(|| {
        format!("kubernetes.io/csi: {what}: driver name {name} not found in the list of registered CSI drivers")
    })
}

/// Makes a call of the driver on the node; does nothing if the volume has no driver.
async fn called(
    context: &NodeContext<'_>,
    spec: &VolumeSpec,
    call: NodeCall,
    failed: impl Fn(&str) -> String + Sync,
) -> Performed {
    let Some(driver) = spec.driver() else { return Performed::at_once(OperationOutcome::Done) };
    let Some(service) = context.drivers.get(&driver.name) else { return Performed::at_once(OperationOutcome::Done) };
    // The spec of a volume that is being unmounted is not refreshed, and its annotations may have changed since.
    let leaves = matches!(call, NodeCall::NodeUnpublishVolume | NodeCall::NodeUnstageVolume);
    let annotations = match spec.csi().filter(|_| leaves && !driver.annotations.is_empty()) {
        Some(volume) => current_annotations(context.client(), service, volume, &spec.name)
            .await
            .unwrap_or_else(|| driver.annotations.clone()),
        None => driver.annotations.clone(),
    };
    let result = service.call(call, &annotations);
    let ends = |why: &str| OperationOutcome::Failed { why: failed(why), has_event: true };
    match result.end {
        CallEnd::Hangs => Performed {
            takes: CALL_TIMEOUT,
            ends: ends("rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
        },
        CallEnd::Fails(why) => Performed { takes: result.takes, ends: ends(&why) },
        CallEnd::Succeeds => Performed { takes: result.takes, ends: OperationOutcome::Done },
    }
}

/// The current annotations of claim and volume; none if they cannot be read.
async fn current_annotations(
    client: &Client,
    service: &dyn NodeService,
    volume: &CsiVolume,
    name: &str,
) -> Option<VolumeContext> {
    let found = Api::<PersistentVolume>::of(client).find(&ObjectKey::cluster(name)).await.ok()?;
    let claim = Api::<PersistentVolumeClaim>::of(client).find(&volume.claim).await.ok()?;
    let (found, claim) = (found.as_ref().map(Resource::meta), claim.as_ref().map(Resource::meta));
    let all = found.into_iter().chain(claim).flat_map(|meta| service.volume_context(&meta.annotations));
    Some(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachments_name_is_the_published_one() {
        let name = attachment_name("", "", "abc");
        assert_eq!(name, "csi-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
