use coracle_api::core_v1::{Node, Volume};
use coracle_client::Error;
use coracle_container_programs::Sources;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_informer::Lister;
use coracle_journal::Recorder;
use coracle_kubelet_api::DriversStore;
use coracle_meta::ObjectKey;
use coracle_volume_manager::{NodeContext, Progress, VolumeGoal};

use crate::node::agent::Agent;

/// The volumes of one pod.
pub(crate) struct PodVolumes<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) pass: &'a Pass,
    pub(crate) key: &'a ObjectKey,
    pub(crate) nodes: &'a Lister<Node>,
    pub(crate) recorder: &'a Recorder,
    pub(crate) drivers: &'a DriversStore,
}

impl PodVolumes<'_> {
    /// Mounts or unmounts the volumes of the pod as far as possible at the moment.
    pub(crate) async fn sync(&self, goal: VolumeGoal<'_>, sources: &Sources) -> Result<Progress, ReconcileError> {
        let Self { agent, pass, key, nodes, recorder, drivers } = *self;
        // Sources that were not fetched are not missing.
        let lacks = |volume: &Volume| if sources.is_empty() { None } else { sources.lacked_by_volume(volume) };
        let context = NodeContext {
            node: &agent.name,
            actor: &agent.speaker.actor,
            pass,
            nodes,
            events: &agent.events,
            recorder,
            lacks: &lacks,
            drivers,
        };
        match agent.volumes.sync(&context, key, goal).await {
            // Mounted volumes stay mounted; the others wait until the API can be reached.
            Err(ReconcileError::Call(Error::Transport { .. })) if agent.machine.is_cut_off() => {
                Ok(agent.volumes.progress(key, goal))
            }
            progress => progress,
        }
    }
}
