use coracle_api::core_v1::{Container, Pod};
use coracle_node_usage::exceeds_memory;

use crate::pod::behaviour::Behaviour;

/// The exit code and the reason of a container that the kernel killed.
pub(crate) const KILLED: i32 = 137;
pub(crate) const OOM_KILLED: &str = "OOMKilled";

/// The behaviour of a container whose memory usage exceeds its limit at some time: it is killed then, unless it has
/// ended before.
pub(crate) fn limited(behaviour: Behaviour, pod: &Pod, container: &Container, is_init: bool) -> Behaviour {
    let limit = container.resources.limits.get("memory").and_then(|limit| u64::try_from(limit.value()).ok());
    let killed = limit.and_then(|limit| exceeds_memory(pod, container, is_init, limit));
    match killed {
        Some(after) if behaviour.exits.is_none() || after < behaviour.exit_after => {
            Behaviour { exits: Some(KILLED), exit_after: after, exit_reason: Some(OOM_KILLED.to_owned()), ..behaviour }
        }
        _ => behaviour,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use serde_json::json;

    fn of(annotations: serde_json::Value) -> Behaviour {
        let container = json!({"name": "c", "resources": {"limits": {"memory": "100Mi"}}});
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {"containers": [container]}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        limited(Behaviour::of(&pod, "c", false), &pod, &pod.spec.containers[0], false)
    }

    #[test]
    fn a_container_is_killed_when_it_uses_more_memory_than_its_limit() {
        assert_eq!(of(json!({"coracle.dev/memory": "100Mi"})).exits, None);
        let killed = of(json!({"coracle.dev/memory": "64Mi,30s:101Mi"}));
        assert_eq!((killed.exits, killed.exit_after), (Some(137), Duration::from_secs(30)));
        assert_eq!(killed.exit_reason.as_deref(), Some("OOMKilled"));
        let before = json!({"coracle.dev/memory": "64Mi,30s:101Mi", "coracle.dev/exit-code": "0", "coracle.dev/exit-after": "5s"});
        assert_eq!(of(before).exits, Some(0));
    }
}
