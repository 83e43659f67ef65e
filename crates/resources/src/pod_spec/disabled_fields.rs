use coracle_meta::Object;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_at};
use serde_json::Value;

/// Drops fields of features that are disabled by default, unless the old object already uses them. `path` is that of
/// the pod spec. In Kubernetes: `DropDisabledPodFields`, `DropDisabledTemplateFields`.
pub(crate) fn drop_disabled(new: &mut Object, old: Option<&Object>, path: &str) {
    let used = old.map(|old| Used::by(old.at(path))).unwrap_or_default();
    edit_at(new, path, |spec| drop_unused(spec, used));
}

/// The features that a spec uses: `ContainerStopSignals`, `ClusterTrustBundleProjection`, `PodCertificateRequest` and
/// `GenericWorkload`.
#[derive(Clone, Copy, Default)]
struct Used {
    stop_signals: bool,
    trust_bundles: bool,
    pod_certificates: bool,
    workloads: bool,
}

impl Used {
    fn by(spec: &Value) -> Self {
        let projects = |kind: &str| {
            let sources = spec.list("volumes").iter().flat_map(|volume| volume.list("projected.sources"));
            sources.into_iter().any(|source| source.has(kind))
        };
        let mut containers = super::all_containers(spec, "").into_iter();
        Self {
            stop_signals: containers.any(|(_, container)| container.has("lifecycle.stopSignal")),
            trust_bundles: projects("clusterTrustBundle"),
            pod_certificates: projects("podCertificate"),
            workloads: spec.has("workloadRef"),
        }
    }
}

fn drop_unused(spec: &mut Tree, used: Used) {
    if !used.workloads {
        spec.remove("workloadRef");
    }
    if !used.stop_signals {
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            spec.each_in(list, drop_stop_signal);
        }
    }
    spec.each_in("volumes", |volume| {
        let Some(projected) = volume.object_in("projected") else { return };
        projected.each_in("sources", |source| {
            if !used.trust_bundles {
                source.remove("clusterTrustBundle");
            }
            if !used.pod_certificates {
                source.remove("podCertificate");
            }
        });
    });
}

fn drop_stop_signal(container: &mut Tree) {
    let Some(lifecycle) = container.object_in("lifecycle") else { return };
    let was_set = lifecycle.remove("stopSignal").is_some_and(|signal| !signal.is_null());
    if was_set && lifecycle.values().all(Value::is_null) {
        container.remove("lifecycle");
    }
}
