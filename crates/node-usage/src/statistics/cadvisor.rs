use coracle_exposition::{Exposition, MetricKind};

use super::{Statistics, seconds, since_epoch};
use crate::{ContainerReading, PodReading};

/// The metrics of `/metrics/cadvisor` that apply to simulated containers: CPU time, memory, start, limits, and the
/// machine. There are no metrics of disks, networks and the kernel.
///
/// In Kubernetes: `github.com/google/cadvisor/metrics`.
pub fn cadvisor(of: &Statistics) -> String {
    let mut text = Exposition::default();
    let each =
        |text: &mut Exposition, name: &str, value: &dyn Fn(&PodReading, &ContainerReading) -> f64, total: bool| {
            for pod in &of.reading.pods {
                for own in &pod.containers {
                    let id = format!("/kubepods/pod{}/{}", pod.uid, own.name);
                    let cpu: &[(&str, &str)] = if total { &[("cpu", "total")] } else { &[] };
                    let labels = [
                        &[("container", own.name.as_str())],
                        cpu,
                        &[
                            ("id", id.as_str()),
                            ("image", of.image(&pod.key, &own.name)),
                            ("namespace", &pod.key.namespace),
                            ("pod", &pod.key.name),
                        ],
                    ]
                    .concat();
                    text.sample_at(name, &labels, value(pod, own), of.reading.at.as_millisecond());
                }
            }
        };
    let cpu = "container_cpu_usage_seconds_total";
    text.metric(cpu, MetricKind::Counter, "Cumulative cpu time consumed in seconds.");
    each(&mut text, cpu, &|_, own| seconds(own.cpu), true);
    for (name, help) in [
        (
            "container_memory_usage_bytes",
            "Current memory usage in bytes, including all memory regardless of when it was accessed",
        ),
        ("container_memory_working_set_bytes", "Current working set in bytes."),
    ] {
        text.metric(name, MetricKind::Gauge, help);
        each(&mut text, name, &|_, own| own.memory as f64, false);
    }
    let processes = "container_processes";
    text.metric(processes, MetricKind::Gauge, "Number of processes running inside the container.");
    each(&mut text, processes, &|_, own| own.pids as f64, false);
    let limit = "container_spec_memory_limit_bytes";
    text.metric(limit, MetricKind::Gauge, "Memory limit for the container.");
    each(&mut text, limit, &|pod, own| of.limit(&pod.key, &own.name, "memory").unwrap_or(0) as f64, false);
    let start = "container_start_time_seconds";
    text.metric(start, MetricKind::Gauge, "Start time of the container since unix epoch in seconds.");
    each(&mut text, start, &|_, own| since_epoch(own.started), false);
    machine(of, &mut text);
    text.into_text()
}

/// The capacity of the machine.
fn machine(of: &Statistics, text: &mut Exposition) {
    let metrics = [
        ("machine_cpu_cores", "Number of logical CPU cores.", of.capacity("cpu")),
        ("machine_memory_bytes", "Amount of memory installed on the machine.", of.capacity("memory")),
    ];
    let info = &of.node.status.node_info;
    let labels = [
        ("boot_id", info.boot_id.as_str()),
        ("machine_id", info.machine_id.as_str()),
        ("system_uuid", info.system_uuid.as_str()),
    ];
    for (name, help, amount) in metrics {
        text.metric(name, MetricKind::Gauge, help);
        text.sample(name, &labels, amount);
    }
}
