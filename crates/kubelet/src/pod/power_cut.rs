use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;

use crate::pod::container::{ContainerChange, ContainerPhase, ContainerRuntime};
use crate::pod::lifecycle::{PodStage, Runtime};
use crate::pod::pod_context::PodContext;

/// The exit code and the reason of a container that the runtime finds dead after a reboot.
const LOST: (i32, &str) = (255, "Unknown");

/// A pod whose machine has lost power: its running containers have ended then, its sandbox and address are gone, and it
/// restarts as its restart policy allows.
pub(crate) fn after_power_cut(
    runtime: &Runtime,
    pod: &Pod,
    context: &PodContext,
    cut: Timestamp,
    now: Timestamp,
) -> Runtime {
    let mut after = runtime.clone();
    after.ip = None;
    for place in runtime.places() {
        let (Some(wanted), Some(own)) = (context.wanted(pod, place), runtime.container(place)) else { continue };
        if matches!(own.state, ContainerPhase::Pulling { .. }) {
            let state = if own.is_restarting() { ContainerPhase::BackingOff } else { ContainerPhase::Waiting };
            after.put(place, ContainerRuntime { state, since: now, ..own.clone() });
        }
        if own.state == ContainerPhase::Running {
            let mut ended = own.after(&ContainerChange::Exits(LOST.0), &wanted, pod, cut);
            if let Some(exit) = &mut ended.exit {
                exit.reason = Some(LOST.1.to_owned());
            }
            after.put(place, ended);
        }
    }
    if after.stage == PodStage::Active {
        after.since = now;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;
    use serde_json::json;

    fn lost(policy: &str) -> Runtime {
        let pod: Pod = serde_json::from_value(json!({
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]}
        }))
        .unwrap();
        let (then, now) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z");
        let [then, now] = [then, now].map(|time| parse_time(time).unwrap());
        let context = PodContext::of(&pod);
        let mut running = Runtime::seen_at(&pod, then);
        running.stage = PodStage::Active;
        running.ip = Some("10.128.0.1".to_owned());
        running.main[0].state = ContainerPhase::Running;
        after_power_cut(&running, &pod, &context, now, now)
    }

    #[test]
    fn running_containers_have_ended_and_restart_by_their_policy() {
        let always = lost("Always");
        let exit = always.main[0].exit.as_ref().unwrap();
        assert_eq!((always.main[0].state, always.ip), (ContainerPhase::BackingOff, None));
        assert_eq!((exit.code, exit.reason.as_deref()), (255, Some("Unknown")));
        assert_eq!(lost("Never").main[0].state, ContainerPhase::Ended);
    }
}
