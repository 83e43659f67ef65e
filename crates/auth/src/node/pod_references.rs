//! The references of a pod to other objects, by name. Pure.

use coracle_meta::Object;
use coracle_meta::fields::Fields;
use serde_json::Value;

/// The annotation of mirror pods.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Whether a pod's references count. Those of mirror pods do not, because a node could grant itself permissions by
/// creating them.
pub(super) fn counts(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_none()
}

/// In Kubernetes: `podutil.VisitPodSecretNames`.
pub(super) fn secrets(pod: &Object) -> impl Iterator<Item = &str> {
    let pulled = pod.list("spec.imagePullSecrets").iter().map(|secret| secret.text("name"));
    let volumes = volumes(pod).flat_map(|volume| {
        [
            volume.text("secret.secretName"),
            volume.text("azureFile.secretName"),
            volume.text("cephfs.secretRef.name"),
            volume.text("cinder.secretRef.name"),
            volume.text("flexVolume.secretRef.name"),
            volume.text("rbd.secretRef.name"),
            volume.text("scaleIO.secretRef.name"),
            volume.text("iscsi.secretRef.name"),
            volume.text("storageos.secretRef.name"),
            volume.text("csi.nodePublishSecretRef.name"),
        ]
    });
    let from_environment = environment(pod, "secretRef.name", "valueFrom.secretKeyRef.name");
    named(pulled.chain(volumes).chain(projected(pod, "secret.name")).chain(from_environment))
}

/// In Kubernetes: `podutil.VisitPodConfigmapNames`.
pub(super) fn config_maps(pod: &Object) -> impl Iterator<Item = &str> {
    let volumes = volumes(pod).map(|volume| volume.text("configMap.name"));
    let from_environment = environment(pod, "configMapRef.name", "valueFrom.configMapKeyRef.name");
    named(volumes.chain(projected(pod, "configMap.name")).chain(from_environment))
}

/// The claims that the pod names, and those of its ephemeral volumes.
pub(super) fn claims(pod: &Object) -> impl Iterator<Item = String> {
    volumes(pod).filter_map(|volume| {
        if volume.has("ephemeral") {
            return Some(format!("{}-{}", pod.name(), volume.text("name")));
        }
        let name = volume.text("persistentVolumeClaim.claimName");
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// The resource claims that the pod names, and those that were created for it. In Kubernetes: `resourceclaim.Name`.
pub(super) fn resource_claims(pod: &Object) -> impl Iterator<Item = &str> {
    let claims = pod.list("spec.resourceClaims").iter().map(|claim| {
        if !claim.text("resourceClaimName").is_empty() {
            return claim.text("resourceClaimName");
        }
        let made = pod.list("status.resourceClaimStatuses").iter();
        made.filter(|made| made.text("name") == claim.text("name"))
            .map(|made| made.text("resourceClaimName"))
            .next()
            .unwrap_or("")
    });
    let extended = pod.text("status.extendedResourceClaimStatus.resourceClaimName");
    named(claims.chain([extended]))
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    names.filter(|name| !name.is_empty())
}

fn volumes(pod: &Object) -> impl Iterator<Item = &Value> {
    pod.list("spec.volumes").iter()
}

fn projected<'a>(pod: &'a Object, path: &'static str) -> impl Iterator<Item = &'a str> {
    volumes(pod).flat_map(|volume| volume.list("projected.sources")).map(move |source| source.text(path))
}

fn environment<'a>(pod: &'a Object, whole: &'static str, single: &'static str) -> impl Iterator<Item = &'a str> {
    let containers = ["spec.initContainers", "spec.containers", "spec.ephemeralContainers"];
    containers.into_iter().flat_map(|path| pod.list(path)).flat_map(move |container| {
        let whole = container.list("envFrom").iter().map(move |from| from.text(whole));
        whole.chain(container.list("env").iter().map(move |variable| variable.text(single)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined<T: Into<String>>(names: impl Iterator<Item = T>) -> String {
        let mut names: Vec<String> = names.map(Into::into).collect();
        names.sort_unstable();
        names.join(",")
    }

    #[test]
    fn a_pod_refers_through_volumes_environments_and_pull_secrets() {
        let pod = Object::from_value(json!({"metadata": {"name": "p"}, "spec": {
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [
                {"secret": {"secretName": "s1"}}, {"configMap": {"name": "c1"}},
                {"projected": {"sources": [{"secret": {"name": "s2"}}, {"configMap": {"name": "c2"}}]}},
                {"persistentVolumeClaim": {"claimName": "p1"}}, {"name": "data", "ephemeral": {}},
                {"csi": {"nodePublishSecretRef": {"name": "s4"}}}, {"azureFile": {"secretName": "s5"}}
            ],
            "containers": [{
                "envFrom": [{"configMapRef": {"name": "c3"}}],
                "env": [{"valueFrom": {"secretKeyRef": {"name": "s3", "key": "k"}}}]
            }]
        }}))
        .unwrap();
        assert_eq!(joined(secrets(&pod)), "pull,s1,s2,s3,s4,s5");
        assert_eq!(joined(config_maps(&pod)), "c1,c2,c3");
        assert_eq!(joined(claims(&pod)), "p-data,p1");
        assert!(counts(&pod));
    }

    #[test]
    fn a_text_that_resembles_a_reference_is_not_one() {
        let pod = Object::from_value(json!({
            "metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}},
            "spec": {
                "secret": {"secretName": "s"}, "secretRef": {"name": "s"},
                "containers": [{"volumeMounts": [{"secret": {"secretName": "s"}}], "secretRef": {"name": "s"}}]
            }
        }))
        .unwrap();
        assert_eq!(joined(secrets(&pod)), "");
        assert!(!counts(&pod));
    }

    #[test]
    fn a_resource_claim_is_named_by_the_pod_or_was_made_for_it() {
        let pod = Object::from_value(json!({
            "spec": {"resourceClaims": [
                {"name": "a", "resourceClaimName": "direct"}, {"name": "b", "resourceClaimTemplateName": "t"},
                {"name": "c", "resourceClaimTemplateName": "t"}
            ]},
            "status": {
                "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}, {"name": "x", "resourceClaimName": "y"}],
                "extendedResourceClaimStatus": {"resourceClaimName": "extended"}
            }
        }))
        .unwrap();
        assert_eq!(joined(resource_claims(&pod)), "direct,extended,made");
    }
}
