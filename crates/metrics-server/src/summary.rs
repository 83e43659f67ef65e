use coracle_ambient::Timestamp;
use coracle_kubelet::{ContainerReading, NodeReading, PodReading};
use coracle_meta::fields::Fields;
use coracle_meta::{ObjectKey, parse_time};
use serde_json::Value;

/// Processor time and memory at a moment, from a node's `/stats/summary`. `None` if the summary is of another moment: a
/// kubelet that does not know the parameter `at` sends the newest.
pub(crate) fn reading_of(summary: &Value, at: Timestamp) -> Option<NodeReading> {
    let node = summary.at("node");
    let of = parse_time(node.text("cpu.time"))?;
    if of.as_second() != at.as_second() {
        return None;
    }
    let pods = summary.list("pods").iter().filter_map(pod);
    Some(NodeReading {
        at,
        started: parse_time(node.text("startTime"))?,
        cpu: processor(node)?,
        cpu_now: 0,
        memory: memory(node)?,
        storage: 0,
        pids: 0,
        pods: pods.collect(),
    })
}

fn pod(pod: &Value) -> Option<PodReading> {
    let reference = pod.at("podRef");
    let containers: Option<Vec<_>> = pod.list("containers").iter().map(container).collect();
    Some(PodReading {
        key: ObjectKey::new(reference.text("namespace"), reference.text("name")),
        uid: reference.text("uid").to_owned(),
        started: parse_time(pod.text("startTime"))?,
        cpu: processor(pod)?,
        containers: containers?,
    })
}

fn container(own: &Value) -> Option<ContainerReading> {
    Some(ContainerReading {
        name: own.text("name").to_owned(),
        started: parse_time(own.text("startTime"))?,
        cpu: processor(own)?,
        cpu_now: 0,
        memory: memory(own)?,
        storage: 0,
        pids: 0,
    })
}

fn processor(of: &Value) -> Option<u64> {
    of.at("cpu.usageCoreNanoSeconds").as_u64()
}

fn memory(of: &Value) -> Option<u64> {
    of.at("memory.workingSetBytes").as_u64()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn summary() -> Value {
        let (cpu, memory) =
            (json!({"time": "2026-01-01T00:00:15Z", "usageCoreNanoSeconds": 5}), json!({"workingSetBytes": 7}));
        let start = "2026-01-01T00:00:00Z";
        let own = json!({"name": "c", "startTime": start, "cpu": cpu, "memory": memory});
        let reference = json!({"name": "web", "namespace": "a", "uid": "u"});
        let pod = json!({"podRef": reference, "startTime": start, "cpu": cpu, "memory": memory, "containers": [own]});
        json!({"node": {"startTime": start, "cpu": cpu, "memory": memory}, "pods": [pod]})
    }

    #[test]
    fn a_summary_is_used_only_if_it_has_the_requested_time() {
        let at = parse_time("2026-01-01T00:00:15Z").unwrap();
        let reading = reading_of(&summary(), at).unwrap();
        assert_eq!((reading.cpu, reading.memory, reading.pods.len()), (5, 7, 1));
        let pod = &reading.pods[0];
        assert_eq!((pod.key.to_string().as_str(), pod.uid.as_str(), pod.containers[0].memory), ("a/web", "u", 7));
        assert_eq!(reading_of(&summary(), at + jiff::SignedDuration::from_secs(15)), None);
    }

    proptest! {
        #[test]
        fn no_summary_makes_it_panic(path in "(node|pods/0|pods/0/containers/0)(/(cpu|memory|startTime|podRef))?", wrong in "\\PC*") {
            let mut summary = summary();
            if let Some(place) = summary.pointer_mut(&format!("/{path}")) {
                *place = serde_json::from_str(&wrong).unwrap_or(Value::String(wrong));
            }
            let _ = reading_of(&summary, parse_time("2026-01-01T00:00:15Z").unwrap());
        }
    }
}
