use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;

use crate::container::{Change, State};
use crate::lifecycle::{PodStage, Runtime};
use crate::surroundings::Surroundings;

/// The code with which a runtime reports a container that it finds dead after a reboot, and the reason.
const LOST: (i32, &str) = (255, "Unknown");

/// A pod whose machine has lost its power: what ran has ended then, its sandbox and address are gone, and it begins anew
/// as far as its restart policy says.
pub(crate) fn after_power_cut(
    runtime: &Runtime,
    pod: &Pod,
    around: &Surroundings,
    cut: Timestamp,
    now: Timestamp,
) -> Runtime {
    let mut after = runtime.clone();
    after.ip = None;
    for place in runtime.places() {
        let (Some(wanted), Some(own)) = (around.wanted(pod, place), runtime.container(place)) else { continue };
        if own.state == State::Running {
            let mut ended = own.after(&Change::Exits(LOST.0), &wanted, pod, cut);
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
        let around = Surroundings::of(&pod);
        let mut running = Runtime::seen_at(&pod, then);
        running.stage = PodStage::Active;
        running.ip = Some("10.128.0.1".to_owned());
        running.main[0].state = State::Running;
        after_power_cut(&running, &pod, &around, now, now)
    }

    #[test]
    fn what_ran_has_ended_and_is_started_again_if_its_policy_says_so() {
        let always = lost("Always");
        let exit = always.main[0].exit.as_ref().unwrap();
        assert_eq!((always.main[0].state, always.ip), (State::BackingOff, None));
        assert_eq!((exit.code, exit.reason.as_deref()), (255, Some("Unknown")));
        assert_eq!(lost("Never").main[0].state, State::Ended);
    }
}
