use crate::core_v1::{EnvFromSource, EnvVar, Pod, Volume};

impl Pod {
    /// The Secrets that the pod refers to: for pulling images, in volumes and in environments.
    ///
    /// In Kubernetes: `podutil.VisitPodSecretNames`.
    pub fn secret_names(&self) -> Vec<&str> {
        let spec = &self.spec;
        let mut names: Vec<&str> = spec.image_pull_secrets.iter().map(|secret| secret.name.as_str()).collect();
        for container in spec.init_containers.iter().chain(&spec.containers) {
            names.extend(of_environment(&container.env_from, &container.env));
        }
        for container in &spec.ephemeral_containers {
            names.extend(of_environment(&container.env_from, &container.env));
        }
        names.extend(spec.volumes.iter().flat_map(of_volume));
        names.retain(|name| !name.is_empty());
        names
    }
}

fn of_environment<'a>(whole: &'a [EnvFromSource], single: &'a [EnvVar]) -> impl Iterator<Item = &'a str> {
    let whole = whole.iter().filter_map(|source| Some(source.secret_ref.as_ref()?.name.as_str()));
    let single =
        single.iter().filter_map(|variable| Some(variable.value_from.as_ref()?.secret_key_ref.as_ref()?.name.as_str()));
    whole.chain(single)
}

fn of_volume(volume: &Volume) -> Vec<&str> {
    let projected = volume.projected.iter().flat_map(|source| &source.sources);
    let mut names: Vec<&str> = projected.filter_map(|part| Some(part.secret.as_ref()?.name.as_str())).collect();
    let sources = [
        volume.secret.as_ref().map(|source| source.secret_name.as_str()),
        volume.azure_file.as_ref().map(|source| source.secret_name.as_str()),
        volume.cephfs.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.cinder.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.flex_volume.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.rbd.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.scale_io.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.iscsi.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.storageos.as_ref().and_then(|source| Some(source.secret_ref.as_ref()?.name.as_str())),
        volume.csi.as_ref().and_then(|source| Some(source.node_publish_secret_ref.as_ref()?.name.as_str())),
    ];
    names.extend(sources.into_iter().flatten());
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_found_wherever_a_pod_refers_to_them() {
        let pod = json!({"spec": {
            "imagePullSecrets": [{"name": "pull"}],
            "containers": [{
                "name": "c", "envFrom": [{"secretRef": {"name": "whole"}}, {"configMapRef": {"name": "map"}}],
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "single", "key": "k"}}}, {"name": "B"}],
            }],
            "ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "debug"}}]}],
            "volumes": [
                {"name": "s", "secret": {"secretName": "volume"}},
                {"name": "p", "projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "map"}}]}},
                {"name": "c", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "driver"}}},
                {"name": "r", "rbd": {"image": "i", "monitors": [], "secretRef": {"name": "block"}}},
            ],
        }});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(pod.secret_names(), ["pull", "whole", "single", "debug", "volume", "part", "driver", "block"]);
    }
}
