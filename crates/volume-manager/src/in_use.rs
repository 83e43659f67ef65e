//! The volumes that a node reports as in use, so that the attach-detach controller does not detach them.
//!
//! In Kubernetes: `GetVolumesInUse`, `nodestatus.VolumesInUse`.

use std::collections::BTreeSet;

use coracle_api::core_v1::Node;
use coracle_client::{Api, Client, Error, Patch};
use coracle_meta::ObjectKey;
use serde_json::json;

use crate::world::actual_state::ActualStateOfWorld;
use crate::world::desired_state::DesiredStateOfWorld;
use crate::world::spec::UniqueName;

/// The attachable volumes that the node uses or will use.
pub(crate) fn in_use(desired: &DesiredStateOfWorld, actual: &ActualStateOfWorld) -> Vec<String> {
    let there = actual.volumes().filter(|(_, volume)| volume.spec.is_attachable()).map(|(name, _)| name);
    let all: BTreeSet<&UniqueName> = desired.attachable().chain(there).collect();
    all.into_iter().map(ToString::to_string).collect()
}

/// Reports the volumes in the status of the Node.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn report(client: &Client, node: &str, volumes: &[String]) -> Result<(), Error> {
    let patch = Patch::Merge(json!({"status": {"volumesInUse": volumes}}));
    Api::<Node>::of(client).patch_status_unread(&ObjectKey::cluster(node), &patch).await
}
