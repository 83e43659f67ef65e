//! The usage endpoints of a node: `/stats/summary`, `/metrics/resource`, `/metrics/cadvisor`, `/metrics`.
//!
//! They render one [`NodeReading`](crate::NodeReading) and the objects that it is about, without side effects.
//! In Kubernetes: `pkg/kubelet/server/stats` and `pkg/kubelet/metrics/collectors`.

mod cadvisor;
mod kubelet_metrics;
mod resource_metrics;
mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Container, Node, Pod};
use coracle_meta::{ObjectKey, Quantity};

pub use self::cadvisor::cadvisor;
pub use self::kubelet_metrics::kubelet_metrics;
pub use self::resource_metrics::resource_metrics;
pub use self::summary::summary;
use crate::NodeReading;

/// How many processes a node can have.
pub const MOST_PIDS: u64 = 32_768;

/// The usage of a node at one moment.
#[derive(Debug)]
pub struct Statistics {
    /// The Node.
    pub node: Arc<Node>,
    /// Its pods.
    pub pods: BTreeMap<ObjectKey, Arc<Pod>>,
    /// What the node and its pods use.
    pub reading: NodeReading,
}

impl Statistics {
    /// The node's capacity of a resource, in whole units.
    fn capacity(&self, resource: &str) -> u64 {
        let amount = self.node.status.capacity.get(resource).copied().map_or(0, Quantity::value);
        u64::try_from(amount).unwrap_or(0)
    }

    /// A container's limit of a resource, in whole units.
    fn limit(&self, pod: &ObjectKey, container: &str, resource: &str) -> Option<u64> {
        let limit = self.container(pod, container)?.resources.limits.get(resource)?;
        u64::try_from(limit.value()).ok()
    }

    fn image(&self, pod: &ObjectKey, container: &str) -> &str {
        self.container(pod, container).map_or("", |own| own.image.as_str())
    }

    fn container(&self, pod: &ObjectKey, name: &str) -> Option<&Container> {
        let spec = &self.pods.get(pod)?.spec;
        spec.containers.iter().chain(&spec.init_containers).find(|own| own.name == name)
    }
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A moment as seconds since 1970.
fn since_epoch(at: Timestamp) -> f64 {
    at.as_nanosecond() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContainerReading, PodReading};
    use coracle_meta::parse_time;
    use serde_json::json;

    fn statistics() -> Statistics {
        let at = parse_time("2026-01-01T00:01:00Z").unwrap();
        let started = parse_time("2026-01-01T00:00:30Z").unwrap();
        let key = ObjectKey::new("default", "web");
        let container = ContainerReading {
            name: "c".to_owned(),
            started,
            cpu: 7_500_000_000,
            cpu_now: 250_000_000,
            memory: 64 << 20,
            storage: 1000,
            pids: 2,
        };
        let pod = PodReading {
            key: key.clone(),
            uid: "u".to_owned(),
            started,
            cpu: 9_000_000_000,
            containers: vec![container],
        };
        let reading = NodeReading {
            at,
            started,
            cpu: 10_500_000_000,
            cpu_now: 300_000_000,
            memory: 320 << 20,
            storage: 5000,
            pids: 102,
            pods: vec![pod],
        };
        let capacity = json!({"cpu": "8", "memory": "1Gi", "ephemeral-storage": "10k"});
        let node = json!({"metadata": {"name": "node-1"}, "status": {"capacity": capacity}});
        let limits = json!({"limits": {"memory": "100Mi"}});
        let object = json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": limits}]}});
        let pods = [(key, Arc::new(serde_json::from_value(object).unwrap()))];
        Statistics { node: Arc::new(serde_json::from_value(node).unwrap()), pods: pods.into(), reading }
    }

    #[test]
    fn a_summary_says_what_is_used_and_what_is_left() {
        let told = summary(&statistics(), false);
        let node = &told["node"];
        assert_eq!(node["cpu"]["usageCoreNanoSeconds"], 10_500_000_000_u64);
        assert_eq!(node["memory"]["availableBytes"], (1024_u64 - 320) << 20);
        assert_eq!((&node["fs"]["usedBytes"], &node["fs"]["availableBytes"]), (&json!(5000), &json!(5000)));
        let pod = &told["pods"][0];
        assert_eq!(pod["podRef"], json!({"name": "web", "namespace": "default", "uid": "u"}));
        assert_eq!(
            (&pod["cpu"]["usageNanoCores"], &pod["memory"]["availableBytes"]),
            (&json!(250_000_000), &json!(36 << 20))
        );
        assert_eq!(
            (&pod["ephemeral-storage"]["usedBytes"], &pod["process_stats"]["process_count"]),
            (&json!(1000), &json!(2))
        );
        assert_eq!(pod["containers"][0]["startTime"], "2026-01-01T00:00:30Z");
        assert!(summary(&statistics(), true)["node"].get("fs").is_none());
    }

    #[test]
    fn counters_have_a_timestamp_and_start_times_have_none() {
        let told = resource_metrics(&statistics());
        for line in [
            "container_cpu_usage_seconds_total{container=\"c\",namespace=\"default\",pod=\"web\"} 7.5 1767225660000",
            "container_start_time_seconds{container=\"c\",namespace=\"default\",pod=\"web\"} 1767225630",
            "node_cpu_usage_seconds_total 10.5 1767225660000",
            "pod_cpu_usage_seconds_total{namespace=\"default\",pod=\"web\"} 9 1767225660000",
            "resource_scrape_error 0",
        ] {
            assert!(told.lines().any(|told| told == line), "no {line} in\n{told}");
        }
    }

    #[test]
    fn cadvisors_part_names_images_and_the_machine() {
        let told = cadvisor(&statistics());
        let labels = "id=\"/kubepods/podu/c\",image=\"i\",namespace=\"default\",pod=\"web\"";
        assert!(told.contains(&format!("{{container=\"c\",cpu=\"total\",{labels}}} 7.5 1767225660000\n")), "{told}");
        assert!(told.contains("machine_memory_bytes{") && told.contains("} 1073741824\n"), "{told}");
        assert!(kubelet_metrics(&statistics()).contains("kubelet_running_pods 1\n"));
    }
}
