//! Which runs of containers the meters count.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Container, Pod};
use coracle_meta::parse_time;
use coracle_node_usage::ContainerRun;

use crate::pod::container::ContainerPhase;
use crate::pod::container_place::ContainerPlace;
use crate::pod::lifecycle::{PodStage, Runtime};
use crate::pod::pod_context::PodContext;

/// The runs of a pod's containers, as its meters need them.
pub(crate) fn runs<'p>(
    pod: &'p Pod,
    runtime: &Runtime,
    context: &'p PodContext,
    now: Timestamp,
) -> Vec<ContainerRun<'p>> {
    let run = |place: ContainerPlace| {
        let (container, own) = (context.container(pod, place)?, runtime.container(place)?);
        let is_running = own.state == ContainerPhase::Running && runtime.stage != PodStage::Ended;
        Some(ContainerRun {
            container,
            is_init: matches!(place, ContainerPlace::Init(_)),
            since: is_running.then_some(own.since),
            ended: own.exit.as_ref().map_or(now, |exit| exit.at),
        })
    };
    runtime.places().filter_map(run).collect()
}

/// The runs of a pod whose status is written by stages: the containers that its status shows as running.
pub(crate) fn runs_from_status<'p>(pod: &'p Pod, now: Timestamp) -> Vec<ContainerRun<'p>> {
    let (spec, status) = (&pod.spec, &pod.status);
    let init = spec.init_containers.iter().zip(std::iter::repeat(true));
    let all = init.chain(spec.containers.iter().zip(std::iter::repeat(false)));
    let run = |(container, is_init): (&'p Container, bool)| {
        let told = if is_init { &status.init_container_statuses } else { &status.container_statuses };
        let own = told.iter().find(|told| told.name == container.name)?;
        let time = |text: &Option<String>| text.as_deref().and_then(parse_time);
        let since = own.state.running.as_ref().map(|running| time(&running.started_at).unwrap_or(now));
        let ended = own.state.terminated.as_ref().and_then(|ended| time(&ended.finished_at)).unwrap_or(now);
        Some(ContainerRun { container, is_init, since, ended })
    };
    all.filter_map(run).collect()
}
