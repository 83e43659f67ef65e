use coracle_api::core_v1::Volume;
use coracle_client::Error;
use coracle_container_programs::Sources;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::ObjectKey;
use coracle_volume_manager::{NodeContext, Progress, VolumeGoal};

use crate::agent::Agent;
use crate::pod_workers::PodWorkers;

impl PodWorkers {
    /// Mounts or unmounts the volumes of a pod as far as possible at the moment.
    pub(crate) async fn volumes(
        &self,
        node: &Agent,
        pass: &Pass,
        key: &ObjectKey,
        goal: VolumeGoal<'_>,
        sources: &Sources,
    ) -> Result<Progress, ReconcileError> {
        // ConfigMaps and Secrets that were not fetched are not missing.
        let lacks = |volume: &Volume| if sources.0.is_empty() { None } else { sources.lacked_by_volume(volume) };
        let context = NodeContext {
            node: &node.name,
            actor: &node.speaker.actor,
            pass,
            nodes: &self.node_objects,
            events: &node.events,
            recorder: &self.recorder,
            lacks: &lacks,
            drivers: &self.csi_drivers,
        };
        match node.volumes.sync(&context, key, goal).await {
            // Mounted volumes stay mounted; the others wait until the API can be reached.
            Err(ReconcileError::Call(Error::Transport { .. })) if node.machine.is_cut_off() => {
                Ok(node.volumes.progress(key, goal))
            }
            progress => progress,
        }
    }
}
