use std::sync::LazyLock;

use coracle_meta::Object;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_at};
use coracle_release::Release;
use serde_json::Value;

/// Fields of a feature, which the API server drops where the feature's gate is off.
struct Feature {
    gate: &'static str,
    /// The paths below the spec; `name[]` stands for each item of a list, and `containers[]` for each container of any
    /// kind.
    fields: &'static [&'static str],
}

/// The features that are off in a release. A release whose schema lacks a field never gets here with it.
const FEATURES: [Feature; 10] = [
    Feature { gate: "ContainerStopSignals", fields: &["containers[].lifecycle.stopSignal"] },
    Feature { gate: "ClusterTrustBundleProjection", fields: &["volumes[].projected.sources[].clusterTrustBundle"] },
    Feature { gate: "PodCertificateRequest", fields: &["volumes[].projected.sources[].podCertificate"] },
    Feature { gate: "GenericWorkload", fields: &["workloadRef", "schedulingGroup"] },
    Feature { gate: "EvictionRequestAPI", fields: &["evictionResponders"] },
    Feature { gate: "EmptyDirVolumeMode", fields: &["volumes[].emptyDir.mode"] },
    Feature { gate: "VolumeBindMountOptions", fields: &["containers[].volumeMounts[].bindMountOptions"] },
    Feature {
        gate: "AtomicWriteVolumeUserFields",
        fields: &[
            "volumes[].secret.defaultUser",
            "volumes[].secret.items[].user",
            "volumes[].configMap.defaultUser",
            "volumes[].configMap.items[].user",
            "volumes[].downwardAPI.defaultUser",
            "volumes[].downwardAPI.items[].user",
            "volumes[].projected.defaultUser",
            "volumes[].projected.sources[].secret.items[].user",
            "volumes[].projected.sources[].configMap.items[].user",
            "volumes[].projected.sources[].downwardAPI.items[].user",
            "volumes[].projected.sources[].serviceAccountToken.user",
            "volumes[].projected.sources[].clusterTrustBundle.user",
            "volumes[].projected.sources[].podCertificate.user",
        ],
    },
    Feature {
        gate: "H2CContainerProbe",
        fields: &[
            "containers[].livenessProbe.httpGet.protocol",
            "containers[].readinessProbe.httpGet.protocol",
            "containers[].startupProbe.httpGet.protocol",
            "containers[].lifecycle.postStart.httpGet.protocol",
            "containers[].lifecycle.preStop.httpGet.protocol",
        ],
    },
    Feature {
        gate: "GRPCContainerProbeTLS",
        fields: &[
            "containers[].livenessProbe.grpc.mode",
            "containers[].readinessProbe.grpc.mode",
            "containers[].startupProbe.grpc.mode",
        ],
    },
];

/// Drops fields of features that are disabled, unless the old object already uses them. `path` is that of the pod spec.
/// In Kubernetes: `DropDisabledPodFields`, `DropDisabledTemplateFields`.
pub(crate) fn drop_disabled(new: &mut Object, old: Option<&Object>, path: &str, release: &Release) {
    static PATHS: LazyLock<Vec<Vec<Vec<&str>>>> =
        LazyLock::new(|| FEATURES.iter().map(|feature| feature.paths().collect()).collect());
    let old = old.map(|old| old.at(path));
    let is_used = |paths: &[Vec<&str>]| {
        old.is_some_and(|old| paths.iter().any(|path| any_at(old, path, |value| !value.is_null())))
    };
    let features = FEATURES.iter().zip(PATHS.iter()).filter(|(feature, _)| !release.enabled(feature.gate));
    let spec = new.at(path);
    let is_dropped = |paths: &[Vec<&str>]| paths.iter().any(|path| any_at(spec, path, |_| true)) && !is_used(paths);
    let dropped: Vec<_> = features.filter(|(_, paths)| is_dropped(paths)).flat_map(|(_, paths)| paths).collect();
    if !dropped.is_empty() {
        edit_at(new, path, |spec| dropped.iter().for_each(|path| remove(spec, path)));
    }
}

impl Feature {
    /// The steps of the paths.
    fn paths(&self) -> impl Iterator<Item = Vec<&'static str>> {
        const LISTS: [&str; 3] = ["initContainers[]", "containers[]", "ephemeralContainers[]"];
        self.fields.iter().flat_map(|path| {
            let steps: Vec<_> = path.split('.').collect();
            let lists = if steps[0] == "containers[]" { LISTS.to_vec() } else { vec![steps[0]] };
            lists.into_iter().map(move |list| [&[list], &steps[1..]].concat())
        })
    }
}

/// Whether a value at a path below another one passes `test`. A field that is missing is no value.
fn any_at(value: &Value, path: &[&str], test: fn(&Value) -> bool) -> bool {
    let Some((step, rest)) = path.split_first() else { return test(value) };
    match step.strip_suffix("[]") {
        Some(list) => value.list(list).iter().any(|item| any_at(item, rest, test)),
        None => value.get(step).is_some_and(|below| any_at(below, rest, test)),
    }
}

fn remove(tree: &mut Tree, path: &[&str]) {
    match path {
        [] => {}
        ["lifecycle", "stopSignal"] => drop_stop_signal(tree),
        [field] => drop(tree.remove(*field)),
        [step, rest @ ..] => match step.strip_suffix("[]") {
            Some(list) => tree.each_in(list, |item| remove(item, rest)),
            None => {
                if let Some(below) = tree.object_in(step) {
                    remove(below, rest);
                }
            }
        },
    }
}

/// A lifecycle with only a signal goes with it.
fn drop_stop_signal(container: &mut Tree) {
    let Some(lifecycle) = container.object_in("lifecycle") else { return };
    let was_set = lifecycle.remove("stopSignal").is_some_and(|signal| !signal.is_null());
    if was_set && lifecycle.values().all(Value::is_null) {
        container.remove("lifecycle");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_of_a_disabled_feature_goes_unless_it_was_there() {
        let spec = json!({
            "containers": [{"name": "c", "lifecycle": {"stopSignal": "SIGTERM"},
                "livenessProbe": {"httpGet": {"port": 1, "protocol": "HTTP2"}}}],
            "volumes": [{"name": "v", "emptyDir": {"mode": 511}}],
        });
        let release = Release::default();
        let old = Object::from_value(json!({"spec": spec})).unwrap();
        let mut new = old.clone();
        drop_disabled(&mut new, None, "spec", &release);
        let kept = json!({
            "containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": 1}}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        });
        assert_eq!(new.at("spec"), &kept);
        let mut new = old.clone();
        drop_disabled(&mut new, Some(&old), "spec", &release);
        assert_eq!(new, old);
    }
}
