use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_meta::Quantity;

use super::is_critical;
use crate::node::pressure::{Scarce, Signal};
use crate::{ContainerReading, PodReading};

/// The pods with a running container in the order of eviction, without critical pods.
///
/// In Kubernetes: `rankMemoryPressure`, `rankDiskPressureFunc`, `rankPIDPressure`.
pub(crate) fn ranked(mut pods: Vec<(Arc<Pod>, PodReading)>, scarce: Scarce) -> Vec<(Arc<Pod>, PodReading)> {
    pods.retain(|(pod, _)| !is_critical(pod));
    pods.sort_by(|(a, of_a), (b, of_b)| {
        let beyond =
            |pod: &Pod, reading: &PodReading| i128::from(used(reading, scarce)) - i128::from(requested(pod, scarce));
        let (beyond_a, beyond_b) = (beyond(a, of_a), beyond(b, of_b));
        let exceeds = match scarce {
            Scarce::Pids => Ordering::Equal,
            Scarce::Memory | Scarce::Disk => (beyond_b > 0).cmp(&(beyond_a > 0)),
        };
        let priority = a.spec.priority.unwrap_or(0).cmp(&b.spec.priority.unwrap_or(0));
        exceeds.then(priority).then(Reverse(beyond_a).cmp(&Reverse(beyond_b)))
    });
    pods
}

/// The eviction message of a pod. In Kubernetes: `evictionMessage`.
pub(crate) fn shortage_message(signal: &Signal, pod: &Pod, reading: &PodReading) -> String {
    let resource = signal.scarce.word();
    let amount = |value: u64| match signal.scarce {
        Scarce::Pids => value.to_string(),
        Scarce::Memory | Scarce::Disk => quantity(value),
    };
    let mut message = format!(
        "The node was low on resource: {resource}. Threshold quantity: {}, available: {}. ",
        amount(signal.threshold),
        amount(signal.available)
    );
    if signal.scarce == Scarce::Pids {
        return message;
    }
    let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    for container in containers {
        let Some(own) = reading.containers.iter().find(|own| own.name == container.name) else { continue };
        let request = container.resources.requests.get(resource).copied().unwrap_or_default();
        let used = of_container(own, signal.scarce);
        if i128::from(used) > i128::from(request.value()) {
            message += &format!(
                "Container {} was using {}, request is {request}, has larger consumption of {resource}. ",
                container.name,
                amount(used)
            );
        }
    }
    message
}

fn of_container(own: &ContainerReading, scarce: Scarce) -> u64 {
    match scarce {
        Scarce::Memory => own.memory,
        Scarce::Disk => own.storage,
        Scarce::Pids => own.pids,
    }
}

fn used(reading: &PodReading, scarce: Scarce) -> u64 {
    reading.total(|own| of_container(own, scarce))
}

fn requested(pod: &Pod, scarce: Scarce) -> i64 {
    pod.requests().get(scarce.word()).copied().map_or(0, Quantity::value)
}

/// An amount of bytes with a binary suffix.
pub(super) fn quantity(bytes: u64) -> String {
    Quantity::of(i64::try_from(bytes).unwrap_or(i64::MAX)).in_binary().to_string()
}

#[cfg(test)]
mod tests {
    use coracle_ambient::Timestamp;
    use coracle_meta::{ApiObject, ObjectKey};
    use serde_json::json;

    use super::*;

    fn pod(name: &str, priority: i32, request: &str, used: u64) -> (Arc<Pod>, PodReading) {
        let container = json!({"name": "c", "resources": {"requests": {"memory": request}}});
        let spec = json!({"priority": priority, "containers": [container]});
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        let started = Timestamp::UNIX_EPOCH;
        let own = ContainerReading {
            name: "c".to_owned(),
            started,
            cpu: 0,
            cpu_now: 0,
            memory: used << 20,
            storage: 0,
            pids: 1,
        };
        let key: ObjectKey = pod.object_key();
        let reading = PodReading { key, uid: String::new(), started, cpu: 0, containers: vec![own] };
        (Arc::new(pod), reading)
    }

    #[test]
    fn eviction_ranks_by_excess_usage_then_priority_then_usage() {
        let pods = vec![
            pod("within", 0, "500Mi", 400),
            pod("matters", 10, "10Mi", 900),
            pod("some", 0, "100Mi", 150),
            pod("most", 0, "10Mi", 200),
            pod("critical", 2_000_001_000, "1Mi", 999),
        ];
        let ranked = ranked(pods, Scarce::Memory);
        let names: Vec<_> = ranked.iter().filter_map(|(pod, _)| pod.metadata.name.as_deref()).collect();
        assert_eq!(names, ["most", "some", "matters", "within"]);
    }

    #[test]
    fn the_message_is_kubernetes_own() {
        let signal = Signal { scarce: Scarce::Memory, available: 90 << 20, threshold: 100 << 20 };
        let (pod, reading) = pod("web", 0, "100Mi", 150);
        assert_eq!(
            shortage_message(&signal, &pod, &reading),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container c was using \
             150Mi, request is 100Mi, has larger consumption of memory. "
        );
    }
}
