//! `storage.k8s.io/v1`.

mod validation;

use coracle_meta::Object;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_registry::{Column, Generation, KindSpec, TableColumn};
use serde_json::{Value, json};

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::cells::text_or;
use crate::checks::immutable;

/// `storageclasses`.
pub(crate) fn storage_class() -> KindSpec {
    KindSpec {
        set_defaults: |object| {
            object.edit(|tree| {
                tree.fill("reclaimPolicy", "Delete");
                tree.fill("volumeBindingMode", "Immediate");
            });
        },
        validate: validation::wrong_class,
        validate_change: validation::wrong_change_of_class,
        columns: class_columns(),
        ..built_in("storage.k8s.io", "v1", "storageclasses")
    }
}

/// `volumeattributesclasses`.
pub(crate) fn volume_attributes_class() -> KindSpec {
    KindSpec {
        validate: validation::wrong_attributes_class,
        validate_change: validation::wrong_change_of_attributes_class,
        columns: attributes_class_columns(),
        ..built_in("storage.k8s.io", "v1", "volumeattributesclasses")
    }
}

fn attributes_class_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("DriverName", "Name of the CSI driver This field is immutable.", |object| {
            object.text(&["driverName"]).into()
        }),
        TableColumn::age(),
    ]
}

/// `csidrivers`.
pub(crate) fn csi_driver() -> KindSpec {
    KindSpec {
        set_defaults: |object| edit_spec(object, driver_defaults),
        generation: Generation::BY_SPEC,
        validate: validation::wrong_driver,
        validate_change: validation::wrong_change_of_driver,
        columns: driver_columns(),
        ..built_in("storage.k8s.io", "v1", "csidrivers")
    }
}

/// `csinodes`.
pub(crate) fn csi_node() -> KindSpec {
    KindSpec {
        validate: validation::wrong_node,
        columns: node_columns(),
        ..built_in("storage.k8s.io", "v1", "csinodes")
    }
}

fn node_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Drivers",
            "Drivers indicates the number of CSI drivers registered on the node",
            |object| object.list("spec.drivers").len().into(),
        ),
        TableColumn::age(),
    ]
}

/// `csistoragecapacities`.
pub(crate) fn csi_storage_capacity() -> KindSpec {
    KindSpec {
        validate: validation::wrong_capacity,
        validate_change: validation::wrong_change_of_capacity,
        ..built_in("storage.k8s.io", "v1", "csistoragecapacities")
    }
}

/// `volumeattachments`.
pub(crate) fn volume_attachment() -> KindSpec {
    KindSpec {
        validate: validation::wrong_attachment,
        validate_change: |new, old| immutable(new, old, "spec"),
        kept_by_status: SPEC_AND_METADATA,
        columns: attachment_columns(),
        ..built_in("storage.k8s.io", "v1", "volumeattachments")
    }
}

fn class_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::new(Column::name(), |object, _| class_name(object).into()),
        TableColumn::text("Provisioner", "provisioner indicates the type of the provisioner.", |object| {
            object.text(&["provisioner"]).into()
        }),
        TableColumn::text(
            "ReclaimPolicy",
            "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.",
            |object| object.at("reclaimPolicy").as_str().unwrap_or("Delete").into(),
        ),
        TableColumn::text(
            "VolumeBindingMode",
            "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature.",
            |object| object.at("volumeBindingMode").as_str().unwrap_or("Immediate").into(),
        ),
        TableColumn::text(
            "AllowVolumeExpansion",
            "allowVolumeExpansion shows whether the storage class allow volume expand.",
            |object| object.flag("allowVolumeExpansion").into(),
        ),
        TableColumn::age(),
    ]
}

/// The name, and whether it is the class of claims that name none.
fn class_name(object: &Object) -> String {
    const DEFAULT: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let is_default = DEFAULT.iter().any(|name| object.annotation(name) == Some("true"));
    if is_default { format!("{} (default)", object.name()) } else { object.name().to_owned() }
}

fn driver_defaults(spec: &mut Tree) {
    spec.fill("attachRequired", true);
    for field in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
        spec.fill(field, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
    }
}

fn driver_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::boolean(
            "AttachRequired",
            "attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. The CSI external-attacher coordinates with CSI volume driver and updates the volumeattachment status when the attach operation is complete. If the value is specified to false, the attach operation will be skipped. Otherwise the attach operation will be called.\n\nThis field is immutable.",
            |object| object.at("spec.attachRequired").as_bool().unwrap_or(true).into(),
        ),
        TableColumn::boolean(
            "PodInfoOnMount",
            "podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false.\n\nThe CSI driver specifies podInfoOnMount as part of driver deployment. If true, Kubelet will pass pod information as VolumeContext in the CSI NodePublishVolume() calls. The CSI driver is responsible for parsing and validating the information passed in as VolumeContext.\n\nThe following VolumeContext will be passed if podInfoOnMount is set to true. This list might grow, but the prefix will be used. \"csi.storage.k8s.io/pod.name\": pod.Name \"csi.storage.k8s.io/pod.namespace\": pod.Namespace \"csi.storage.k8s.io/pod.uid\": string(pod.UID) \"csi.storage.k8s.io/ephemeral\": \"true\" if the volume is an ephemeral inline volume\n                                defined by a CSIVolumeSource, otherwise \"false\"\n\n\"csi.storage.k8s.io/ephemeral\" is a new feature in Kubernetes 1.16. It is only required for drivers which support both the \"Persistent\" and \"Ephemeral\" VolumeLifecycleMode. Other drivers can leave pod info disabled and/or ignore this field. As Kubernetes 1.15 doesn't support this field, drivers can only support one mode when deployed on such a cluster and the deployment determines which mode that is, for example via a command line parameter of the driver.\n\nThis field was immutable in Kubernetes < 1.29 and now is mutable.",
            |object| object.flag("spec.podInfoOnMount").into(),
        ),
        TableColumn::boolean(
            "StorageCapacity",
            "storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.\n\nThe check can be enabled immediately when deploying a driver. In that case, provisioning new volumes with late binding will pause until the driver deployment has published some suitable CSIStorageCapacity object.\n\nAlternatively, the driver can be deployed with the field unset or false and it can be flipped later when storage capacity information has been published.\n\nThis field was immutable in Kubernetes <= 1.22 and now is mutable.",
            |object| object.flag("spec.storageCapacity").into(),
        ),
        TableColumn::text(
            "TokenRequests",
            "tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. The CSI driver should parse and validate the following VolumeContext: \"csi.storage.k8s.io/serviceAccount.tokens\": {\n  \"<audience>\": {\n    \"token\": <token>,\n    \"expirationTimestamp\": <expiration timestamp in RFC3339>,\n  },\n  ...\n}\n\nNote: Audience in each TokenRequest should be different and at most one token is empty string. To receive a new token after expiry, RequiresRepublish can be used to trigger NodePublishVolume periodically.",
            |object| token_requests(object).into(),
        ),
        TableColumn::boolean(
            "RequiresRepublish",
            "requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\n\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container.",
            |object| object.flag("spec.requiresRepublish").into(),
        ),
        TableColumn::text(
            "Modes",
            "volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is \"Persistent\", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\n\nThe other mode is \"Ephemeral\". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\n\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\n\nThis field is beta. This field is immutable.",
            |object| text_or(&object.texts(&["spec", "volumeLifecycleModes"]).join(","), "<none>"),
        ),
        TableColumn::age(),
    ]
}

fn token_requests(object: &Object) -> String {
    match object.at("spec.tokenRequests") {
        Value::Null => "<unset>".to_owned(),
        _ => {
            let requests = object.list("spec.tokenRequests").iter();
            requests.map(|request| request.text("audience")).collect::<Vec<_>>().join(",")
        }
    }
}

fn attachment_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Attacher",
            "attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().",
            |object| object.text(&["spec", "attacher"]).into(),
        ).of_names(),
        TableColumn::text(
            "PV",
            "persistentVolumeName represents the name of the persistent volume to attach.",
            |object| object.text(&["spec", "source", "persistentVolumeName"]).into(),
        ),
        TableColumn::text(
            "Node",
            "nodeName represents the node that the volume should be attached to.",
            |object| object.text(&["spec", "nodeName"]).into(),
        ),
        TableColumn::boolean(
            "Attached",
            "attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher.",
            |object| object.flag("status.attached").into(),
        ),
        TableColumn::age(),
    ]
}
