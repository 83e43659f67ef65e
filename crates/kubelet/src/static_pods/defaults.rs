//! Defaults of manifests that the node needs. In Kubernetes: `SetDefaults_PodSpec` and related functions.

use coracle_api::core_v1::{Container, Pod, Probe};

/// Sets the defaults that affect how the node runs the pod; the API server sets all others in the mirror.
pub(super) fn complete(pod: &mut Pod) {
    let spec = &mut pod.spec;
    if spec.restart_policy.is_empty() {
        "Always".clone_into(&mut spec.restart_policy);
    }
    spec.termination_grace_period_seconds.get_or_insert(30);
    spec.init_containers.iter_mut().chain(&mut spec.containers).for_each(complete_container);
}

fn complete_container(container: &mut Container) {
    let probes = [&mut container.startup_probe, &mut container.liveness_probe, &mut container.readiness_probe];
    probes.into_iter().flatten().for_each(|probe| complete_probe(probe));
    for port in container.ports.iter_mut().filter(|port| port.protocol.is_empty()) {
        "TCP".clone_into(&mut port.protocol);
    }
    // A limit is also the default of the request.
    let resources = &mut container.resources;
    for (name, limit) in &resources.limits {
        resources.requests.entry(name.clone()).or_insert(*limit);
    }
}

fn complete_probe(probe: &mut Probe) {
    let defaults = [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ];
    for (field, default) in defaults {
        if *field == 0 {
            *field = default;
        }
    }
}
