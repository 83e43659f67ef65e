use coracle_ambient::Timestamp;
use coracle_meta::format_time;
use serde_json::{Value, json};

use super::{MOST_PIDS, Statistics};
use crate::{ContainerReading, PodReading};

/// The response of `/stats/summary`; with `only_cpu_and_memory`, only these.
///
/// In Kubernetes: `Summary` of `stats/v1alpha1`. Values that are not simulated are left out: page faults, inodes, logs,
/// images.
pub fn summary(of: &Statistics, only_cpu_and_memory: bool) -> Value {
    let reading = &of.reading;
    let (at, capacity) = (reading.at, of.capacity("memory"));
    let mut node = json!({
        "nodeName": of.node.metadata.name,
        "startTime": format_time(reading.started),
        "cpu": cpu(at, reading.cpu_now, reading.cpu),
        "memory": memory(at, reading.memory, Some(capacity)),
        "swap": swap(at),
    });
    if !only_cpu_and_memory {
        node["network"] = network(at);
        node["fs"] = disk(of, reading.storage);
        node["rlimit"] = json!({"time": format_time(at), "maxpid": MOST_PIDS, "curproc": reading.pids});
    }
    let pods: Vec<Value> = reading.pods.iter().map(|pod| pod_stats(of, pod, only_cpu_and_memory)).collect();
    json!({"node": node, "pods": pods})
}

fn pod_stats(of: &Statistics, pod: &PodReading, only_cpu_and_memory: bool) -> Value {
    let at = of.reading.at;
    let limits: Option<u64> = pod.containers.iter().map(|own| of.limit(&pod.key, &own.name, "memory")).sum();
    let containers = pod.containers.iter().map(|own| container_stats(of, pod, own, only_cpu_and_memory));
    let mut stats = json!({
        "podRef": {"name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid},
        "startTime": format_time(pod.started),
        "containers": containers.collect::<Vec<Value>>(),
        "cpu": cpu(at, pod.total(|own| own.cpu_now), pod.cpu),
        "memory": memory(at, pod.total(|own| own.memory), limits),
        "swap": swap(at),
    });
    if !only_cpu_and_memory {
        stats["network"] = network(at);
        stats["ephemeral-storage"] = of_disk(of, pod.total(|own| own.storage));
        stats["process_stats"] = json!({"process_count": pod.total(|own| own.pids)});
    }
    stats
}

fn container_stats(of: &Statistics, pod: &PodReading, own: &ContainerReading, only_cpu_and_memory: bool) -> Value {
    let at = of.reading.at;
    let mut stats = json!({
        "name": own.name,
        "startTime": format_time(own.started),
        "cpu": cpu(at, own.cpu_now, own.cpu),
        "memory": memory(at, own.memory, of.limit(&pod.key, &own.name, "memory")),
        "swap": swap(at),
    });
    if !only_cpu_and_memory {
        stats["rootfs"] = of_disk(of, own.storage);
    }
    stats
}

fn cpu(at: Timestamp, now: u64, all: u64) -> Value {
    json!({"time": format_time(at), "usageNanoCores": now, "usageCoreNanoSeconds": all})
}

fn memory(at: Timestamp, used: u64, limit: Option<u64>) -> Value {
    let mut memory = json!({"time": format_time(at), "usageBytes": used, "workingSetBytes": used});
    if let Some(limit) = limit {
        memory["availableBytes"] = limit.saturating_sub(used).into();
    }
    memory
}

fn swap(at: Timestamp) -> Value {
    json!({"time": format_time(at), "swapAvailableBytes": 0, "swapUsageBytes": 0})
}

/// Simulated pods send and receive no network traffic.
fn network(at: Timestamp) -> Value {
    let nothing = json!({"name": "eth0", "rxBytes": 0, "rxErrors": 0, "txBytes": 0, "txErrors": 0});
    let mut network = nothing.clone();
    network["time"] = format_time(at).into();
    network["interfaces"] = json!([nothing]);
    network
}

/// The disk of the node, with this much used.
fn of_disk(of: &Statistics, used: u64) -> Value {
    let mut disk = disk(of, of.reading.storage);
    disk["usedBytes"] = used.into();
    disk
}

fn disk(of: &Statistics, used: u64) -> Value {
    let capacity = of.capacity("ephemeral-storage");
    let available = capacity.saturating_sub(of.reading.storage);
    json!({
        "time": format_time(of.reading.at), "availableBytes": available, "capacityBytes": capacity, "usedBytes": used,
    })
}
