use std::time::Duration;

use coracle_api::core_v1::{Container, Node, Pod};
use coracle_kubelet_api::UsageOverride;
use coracle_meta::Quantity;

use crate::usage_profile::{Unit, UsageProfile};

type Annotations = std::collections::BTreeMap<String, String>;

const PREFIX: &str = "coracle.dev/";

/// The usage of a container without annotations and requests: a thousandth of a core, 16 MiB.
const DEFAULT_CPU: u64 = 1_000_000;
const DEFAULT_MEMORY: u64 = 16 << 20;
/// The usage of the system next to the pods of a node, without annotations.
const SYSTEM_CPU: u64 = 50_000_000;
const SYSTEM_MEMORY: u64 = 256 << 20;
const SYSTEM_STORAGE: u64 = 2 << 30;
const SYSTEM_PIDS: u64 = 100;
/// Without annotations, a container uses this part of its requests: one tenth.
const DEFAULT_SHARE: u64 = 10;

/// The usage of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// In billionths of a core.
    pub(crate) cpu: UsageProfile,
    /// In bytes.
    pub(crate) memory: UsageProfile,
    /// On the node's disk, in bytes.
    pub(crate) storage: UsageProfile,
    /// Processes.
    pub(crate) pids: UsageProfile,
}

/// The annotations that set usage, without their prefix.
pub(crate) const CPU: &str = "cpu";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const STORAGE: &str = "ephemeral-storage";
pub(crate) const PIDS: &str = "pids";

impl Usage {
    /// The usage that a pod's annotations set for one of its containers, or else a tenth of its requests.
    pub(crate) fn of(pod: &Pod, container: &Container, is_init: bool) -> Self {
        Self::told(pod, container, is_init, &mut Vec::new())
    }

    /// The same, with a list of what cannot be parsed; such an annotation counts as absent.
    pub(crate) fn told(pod: &Pod, container: &Container, is_init: bool, faults: &mut Vec<String>) -> Self {
        let requested = |resource: &str| container.resources.requests.get(resource).copied();
        let share = |amount: Option<i64>, other: u64| {
            let amount = amount.and_then(|amount| u64::try_from(amount).ok()).filter(|amount| *amount > 0);
            amount.map_or(other, |amount| amount / DEFAULT_SHARE)
        };
        let says_something = pod.metadata.annotations.keys().any(|key| key.starts_with(PREFIX));
        let mut profile = |name: &str, unit: Unit, default: u64| {
            if !says_something {
                return UsageProfile::constant(default);
            }
            let named = format!("{PREFIX}{}.{name}", container.name);
            let of_all = (!is_init).then(|| format!("{PREFIX}{name}"));
            let keys = [Some(named), of_all];
            annotated(&pod.metadata.annotations, keys.into_iter().flatten(), unit, default, faults)
        };
        let cpu = profile(CPU, Unit::Nano, share(requested("cpu").map(Quantity::nano_value), DEFAULT_CPU));
        let limit = container.resources.limits.get("cpu").and_then(|limit| u64::try_from(limit.nano_value()).ok());
        Self {
            // A container is throttled at its limit.
            cpu: limit.map_or_else(|| cpu.clone(), |limit| cpu.at_most(limit)),
            memory: profile(MEMORY, Unit::One, share(requested("memory").map(Quantity::value), DEFAULT_MEMORY)),
            storage: profile(STORAGE, Unit::One, 0),
            pids: profile(PIDS, Unit::One, 1),
        }
    }

    /// The same, with the overrides of usage objects.
    pub(crate) fn but(mut self, given: UsageOverride) -> Self {
        for (profile, amount) in [(&mut self.cpu, given.cpu), (&mut self.memory, given.memory)] {
            if let Some(amount) = amount {
                *profile = UsageProfile::constant(amount);
            }
        }
        self
    }

    /// The usage of the system that a Node's annotations set.
    pub(crate) fn of_system(node: &Node, faults: &mut Vec<String>) -> Self {
        let mut profile = |name: &str, unit: Unit, default: u64| {
            annotated(&node.metadata.annotations, [format!("{PREFIX}{name}")], unit, default, faults)
        };
        Self {
            cpu: profile(CPU, Unit::Nano, SYSTEM_CPU),
            memory: profile(MEMORY, Unit::One, SYSTEM_MEMORY),
            storage: profile(STORAGE, Unit::One, SYSTEM_STORAGE),
            pids: profile(PIDS, Unit::One, SYSTEM_PIDS),
        }
    }
}

/// The age at which a container first uses more memory than `limit`, in bytes.
pub fn exceeds_memory(pod: &Pod, container: &Container, is_init: bool, limit: u64) -> Option<Duration> {
    Usage::of(pod, container, is_init).memory.exceeds(limit)
}

/// Whether a Node's annotations set the usage of the system.
pub fn has_usage_annotations(node: &Node) -> bool {
    let names = [CPU, MEMORY, STORAGE, PIDS];
    let is_one = |key: &String| key.strip_prefix(PREFIX).is_some_and(|name| names.contains(&name));
    node.metadata.annotations.keys().any(is_one)
}

/// The profile of the first of these annotations that exists; what is wrong with it is added to `faults`.
fn annotated(
    annotations: &Annotations,
    keys: impl IntoIterator<Item = String>,
    unit: Unit,
    default: u64,
    faults: &mut Vec<String>,
) -> UsageProfile {
    let annotated = keys.into_iter().find_map(|key| annotations.get(&key).map(|text| (key, text)));
    let Some((key, text)) = annotated else { return UsageProfile::constant(default) };
    UsageProfile::parse(text, unit, default).unwrap_or_else(|why| {
        let fault = format!("annotation {key} is not heeded: {why}");
        if !faults.contains(&fault) {
            faults.push(fault);
        }
        UsageProfile::constant(default)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(annotations: serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"annotations": annotations},
            "spec": {"containers": [
                {"name": "a", "resources": {"requests": {"cpu": "1", "memory": "100Mi"}}}, {"name": "b"},
            ]},
        }))
        .unwrap()
    }

    fn of(pod: &Pod, index: usize, is_init: bool) -> (u64, u64) {
        let usage = Usage::of(pod, &pod.spec.containers[index], is_init);
        (usage.cpu.at(Duration::ZERO) / 1_000_000, usage.memory.at(Duration::ZERO) >> 20)
    }

    #[test]
    fn by_default_a_container_uses_a_tenth_of_its_requests_or_almost_nothing() {
        let pod = pod(json!({}));
        assert_eq!((of(&pod, 0, false), of(&pod, 1, false)), ((100, 10), (1, 16)));
    }

    #[test]
    fn usage_of_one_container_takes_precedence_and_init_containers_need_their_own() {
        let pod = pod(json!({"coracle.dev/cpu": "250m", "coracle.dev/b.cpu": "30m", "coracle.dev/b.memory": "64Mi"}));
        assert_eq!((of(&pod, 0, false), of(&pod, 1, false)), ((250, 10), (30, 64)));
        assert_eq!((of(&pod, 0, true), of(&pod, 1, true)), ((100, 10), (30, 64)));
    }

    #[test]
    fn an_invalid_usage_is_reported_once_and_the_default_applies() {
        let pod = pod(json!({"coracle.dev/cpu": "lots", "coracle.dev/memory": "64Mi"}));
        let mut faults = Vec::new();
        let usages = pod.spec.containers.iter().map(|own| Usage::told(&pod, own, false, &mut faults));
        let usages: Vec<Usage> = usages.collect();
        assert_eq!(
            (&usages[0].cpu, usages[1].memory.at(Duration::ZERO)),
            (&UsageProfile::constant(100_000_000), 64 << 20)
        );
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("annotation coracle.dev/cpu is not heeded: \"lots\" is no quantity"));
    }
}
