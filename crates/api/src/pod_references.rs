//! The references of a pod's spec to API objects.

use coracle_meta::fields::Fields;
use serde_json::Value;

/// Whether a pod refers to a secret, wherever that may be.
pub fn refers_to_secrets(spec: &Value) -> bool {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let mut containers = lists.iter().flat_map(|list| spec.list(list));
    let in_environment = |container: &Value| {
        container.list("env").iter().any(|variable| variable.has("valueFrom.secretKeyRef"))
            || container.list("envFrom").iter().any(|source| source.has("secretRef"))
    };
    let of_drivers = ["azureFile", "cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos", "csi"];
    let fields = ["secretRef", "secretName", "nodePublishSecretRef"];
    let names_secret = |volume: &Value| {
        volume.has("secret")
            || of_drivers.iter().any(|source| fields.iter().any(|field| volume.at(source).has(field)))
            || volume.list("projected.sources").iter().any(|source| source.has("secret"))
    };
    !spec.list("imagePullSecrets").is_empty()
        || containers.any(in_environment)
        || spec.list("volumes").iter().any(names_secret)
}

/// The references of a pod's spec to API objects, which a static pod cannot have; `None` if there are no references.
///
/// In Kubernetes: `podutil.HasAPIObjectReference`.
pub fn referenced(spec: &Value) -> Option<&'static str> {
    if !spec.text("serviceAccountName").is_empty() {
        return Some("serviceaccounts");
    }
    let containers = || ["initContainers", "containers", "ephemeralContainers"].iter().flat_map(|list| spec.list(list));
    let volumes = || spec.list("volumes").iter();
    let in_environment = |of: &str, key: &str| {
        containers().any(|container| {
            container.list("envFrom").iter().any(|source| source.has(of))
                || container.list("env").iter().any(|variable| variable.at("valueFrom").has(key))
        })
    };
    if refers_to_secrets(spec) {
        return Some("secrets");
    }
    let names_config = |volume: &Value| {
        volume.has("configMap") || volume.list("projected.sources").iter().any(|source| source.has("configMap"))
    };
    if in_environment("configMapRef", "configMapKeyRef") || volumes().any(names_config) {
        return Some("configmaps");
    }
    if !spec.list("resourceClaims").is_empty() {
        return Some("resourceclaims");
    }
    volumes().find_map(|volume| {
        let projected = |source: &str| volume.list("projected.sources").iter().any(|projected| projected.has(source));
        match () {
            () if volume.has("csi") => Some("csidrivers (via CSI volumes)"),
            () if volume.has("glusterfs") => Some("endpoints (via glusterFS volumes)"),
            () if volume.has("persistentVolumeClaim") => Some("persistentvolumeclaims"),
            () if volume.has("ephemeral") => Some("persistentvolumeclaims (via ephemeral volumes)"),
            () if volume.has("azureFile") => Some("secrets (via azureFile volumes)"),
            () if projected("serviceAccountToken") => Some("serviceaccounts (via projected volumes)"),
            () if projected("clusterTrustBundle") => Some("clustertrustbundles"),
            () if projected("podCertificate") => Some("podcertificates"),
            () => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_static_pod_refers_to_nothing_in_the_api() {
        for (spec, expected) in [
            (json!({"volumes": [{"hostPath": {}}, {"emptyDir": {}}]}), None),
            (json!({"serviceAccountName": "x"}), Some("serviceaccounts")),
            (json!({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "s"}}}]}]}), Some("secrets")),
            (json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}), Some("configmaps")),
            (json!({"volumes": [{"persistentVolumeClaim": {}}]}), Some("persistentvolumeclaims")),
            (
                json!({"volumes": [{"projected": {"sources": [{"serviceAccountToken": {}}]}}]}),
                Some("serviceaccounts (via projected volumes)"),
            ),
        ] {
            assert_eq!(referenced(&spec), expected);
        }
    }
}
