//! Reads VolumeAttachments, and decides what the driver has to do about one.

use std::sync::Arc;

use coracle_api::storage_v1::VolumeAttachment;
use coracle_informer::{Lister, Notification, SharedInformer};
use coracle_meta::ObjectKey;

use crate::DRIVER;

/// The finalizer that keeps attachments and attached volumes until the driver has detached them. In Kubernetes:
/// `GetFinalizerName` of external-attacher.
pub(super) const FINALIZER: &str = "external-attacher/sim-csi-coracle-dev";
/// The index of attachments by their volumes.
const BY_VOLUME: &str = "volume";

/// Indexes attachments by their volumes.
pub(super) fn index_by_volume(attachments: &SharedInformer<VolumeAttachment>) {
    attachments.add_index(BY_VOLUME, |attachment| volume_of(attachment).into_iter().map(str::to_owned).collect());
}

/// The attachments of a volume.
pub(super) fn of_volume(attachments: &Lister<VolumeAttachment>, volume: &str) -> Vec<Arc<VolumeAttachment>> {
    attachments.by_index(BY_VOLUME, volume)
}

/// The volume that is attached.
pub(super) fn volume_of(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.spec.source.persistent_volume_name.as_deref()
}

/// The key of the volume that is attached.
pub(super) fn volume_key(change: &Notification<VolumeAttachment>) -> Vec<ObjectKey> {
    volume_of(change.object()).map(ObjectKey::cluster).into_iter().collect()
}

/// What a VolumeAttachment requests from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachmentRequest {
    /// To attach.
    Attach,
    /// To detach.
    Detach,
    /// Nothing, or nothing from this driver.
    Nothing,
}

/// What a VolumeAttachment requests from the driver.
pub(super) fn asked(attachment: &VolumeAttachment) -> AttachmentRequest {
    let is_held = attachment.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
    match (attachment.spec.attacher == DRIVER, attachment.metadata.is_terminating()) {
        (true, false) if !attachment.status.attached => AttachmentRequest::Attach,
        (true, true) if is_held => AttachmentRequest::Detach,
        _ => AttachmentRequest::Nothing,
    }
}

/// Why a volume cannot be attached, if so: another node has it, or the node has reached its limit.
pub(super) fn obstacle(
    attachment: &VolumeAttachment,
    is_shared: bool,
    all: &[Arc<VolumeAttachment>],
    limit: Option<i32>,
) -> Option<String> {
    let volume = volume_of(attachment).unwrap_or_default();
    let is_other = |one: &&Arc<VolumeAttachment>| {
        one.spec.attacher == DRIVER && one.status.attached && one.metadata.name != attachment.metadata.name
    };
    let others = || all.iter().filter(is_other);
    if let Some(holder) = others().find(|one| !is_shared && volume_of(one) == Some(volume)) {
        let node = &holder.spec.node_name;
        return Some(format!("rpc error: code = FailedPrecondition desc = volume {volume} is attached to node {node}"));
    }
    let node = &attachment.spec.node_name;
    let taken = others().filter(|one| one.spec.node_name == *node).count();
    let limit = usize::try_from(limit?).ok()?;
    (taken >= limit).then(|| {
        format!("rpc error: code = ResourceExhausted desc = node {node} has {taken} volumes and takes no more")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(name: &str, node: &str, volume: &str, attached: bool) -> Arc<VolumeAttachment> {
        let mut attachment = VolumeAttachment::default();
        attachment.metadata.name = Some(name.to_owned());
        DRIVER.clone_into(&mut attachment.spec.attacher);
        node.clone_into(&mut attachment.spec.node_name);
        attachment.spec.source.persistent_volume_name = Some(volume.to_owned());
        attachment.status.attached = attached;
        Arc::new(attachment)
    }

    #[test]
    fn an_attachment_asks_to_be_made_and_when_it_goes_to_be_undone() {
        assert_eq!(asked(&attachment("a", "n", "v", false)), AttachmentRequest::Attach);
        assert_eq!(asked(&attachment("a", "n", "v", true)), AttachmentRequest::Nothing);
        let mut goes = VolumeAttachment::clone(&attachment("a", "n", "v", true));
        goes.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(asked(&goes), AttachmentRequest::Nothing);
        goes.metadata.finalizers = vec![FINALIZER.to_owned()];
        assert_eq!(asked(&goes), AttachmentRequest::Detach);
        "other.example.com".clone_into(&mut goes.spec.attacher);
        assert_eq!(asked(&goes), AttachmentRequest::Nothing);
    }

    #[test]
    fn a_volume_is_with_one_node_and_a_node_has_no_more_than_it_takes() {
        let one = attachment("b", "n", "v", false);
        let all = [attachment("a", "m", "v", true), attachment("c", "n", "w", true), one.clone()];
        let why = obstacle(&one, false, &all, Some(25)).unwrap();
        assert_eq!(why, "rpc error: code = FailedPrecondition desc = volume v is attached to node m");
        assert_eq!(obstacle(&one, true, &all, Some(25)), None);
        assert!(obstacle(&one, true, &all, Some(1)).unwrap().contains("node n has 1 volumes"));
        assert_eq!(obstacle(&one, true, &all, None), None);
    }
}
