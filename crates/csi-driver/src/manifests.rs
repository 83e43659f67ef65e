use coracle_meta::Object;
use serde_json::{Value, json};

use crate::DRIVER;

/// The namespace of the driver's service account.
pub const NAMESPACE: &str = "kube-system";
/// The name of the driver's service account.
pub const ACCOUNT: &str = "csi-sim";
/// The name of the default StorageClass.
const CLASS: &str = "standard";

/// The objects that install the driver: its identity, its permissions, and the default StorageClass `standard`.
pub fn manifests() -> Vec<Object> {
    [account(), role(), binding(), driver(), class()]
        .into_iter()
        .filter_map(|one| Object::from_value(one).ok())
        .collect()
}

fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}})
}

/// The rules of external-provisioner, external-attacher and external-resizer in their own manifests.
fn role() -> Value {
    let reads = ["get", "list", "watch"];
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": DRIVER},
        "rules": [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": reads},
            {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses", "csinodes"], "verbs": reads},
            {"apiGroups": [""], "resources": ["persistentvolumes"],
             "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
            {"apiGroups": [""], "resources": ["persistentvolumeclaims", "persistentvolumeclaims/status"],
             "verbs": ["get", "list", "watch", "update", "patch"]},
            {"apiGroups": ["storage.k8s.io"], "resources": ["volumeattachments", "volumeattachments/status"],
             "verbs": ["get", "list", "watch", "update", "patch"]},
            {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        ],
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": DRIVER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": DRIVER},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    })
}

fn driver() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER},
        "spec": {
            "attachRequired": true, "podInfoOnMount": false, "storageCapacity": false, "fsGroupPolicy": "File",
            "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        },
    })
}

fn class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": DRIVER, "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_installs_the_driver_is_an_object() {
        let kinds: Vec<_> = manifests().iter().map(|object| object.kind().to_owned()).collect();
        assert_eq!(kinds, ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "CSIDriver", "StorageClass"]);
    }
}
