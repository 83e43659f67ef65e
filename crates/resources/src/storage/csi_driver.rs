use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::{built_in, drop_newly_used};
use crate::cells::text_or;
use crate::field_checks::{Wrong, each_invalid, immutable, one_of};

/// `csidrivers`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, release| edit_spec(object, |spec| set_defaults(spec, release)),
        prepare_create: |object, _, release| drop_prevention(object, None, release),
        prepare_update: |new, old, _, release| drop_prevention(new, Some(old), release),
        generation: Generation::BY_SPEC,
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
        columns: columns(),
        ..built_in(release, "storage.k8s.io", "v1", "csidrivers")
    }
}

const SHORTEST_TOKEN: i64 = 600;

const LONGEST_TOKEN: i64 = 1 << 32;

/// The gate of `preventPodSchedulingIfMissing`.
const LIMIT_SCALING: &str = "VolumeLimitScaling";

/// Drops the field of a feature that is off, unless the old object uses it.
fn drop_prevention(new: &mut Object, old: Option<&Object>, release: &Release) {
    if !release.enabled(LIMIT_SCALING) {
        drop_newly_used(new, old, &["spec.preventPodSchedulingIfMissing"]);
    }
}

fn set_defaults(spec: &mut Tree, release: &Release) {
    if release.enabled(LIMIT_SCALING) {
        spec.fill("preventPodSchedulingIfMissing", false);
    }
    spec.fill("attachRequired", true);
    for field in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
        spec.fill(field, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
    }
}

fn columns() -> Vec<TableColumn> {
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
            |object| audiences(object).into(),
        ),
        TableColumn::boolean(
            "RequiresRepublish",
            "requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\n\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container.",
            |object| object.flag("spec.requiresRepublish").into(),
        ),
        TableColumn::text(
            "Modes",
            "volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is \"Persistent\", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\n\nThe other mode is \"Ephemeral\". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\n\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\n\nThis field is beta. This field is immutable.",
            |object| text_or(&object.texts("spec.volumeLifecycleModes").join(","), "<none>"),
        ),
        TableColumn::age(),
    ]
}

/// The audiences of the requested tokens.
fn audiences(object: &Object) -> String {
    match object.at("spec.tokenRequests") {
        Value::Null => "<unset>".to_owned(),
        _ => {
            let requests = object.list("spec.tokenRequests").iter();
            requests.map(|request| request.text("audience")).collect::<Vec<_>>().join(",")
        }
    }
}

fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    if spec.has("fsGroupPolicy") {
        wrong.extend(one_of(spec, "fsGroupPolicy", "spec", &["File", "None", "ReadWriteOnceWithFSType"]));
    }
    wrong.extend(wrong_token_requests(spec.list("tokenRequests")));
    for mode in spec.list("volumeLifecycleModes") {
        let known = ["Persistent", "Ephemeral"];
        if !known.iter().any(|known| known == mode) {
            wrong.push(FieldError::not_supported("spec.volumeLifecycleModes", mode.clone(), &known));
        }
    }
    if let Some(period) = spec.int_if_set("nodeAllocatableUpdatePeriodSeconds")
        && period < 10
    {
        let what = "must be greater than or equal to 10 seconds";
        wrong.push(FieldError::invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, what));
    }
    if let Some(flag) = spec.at("serviceAccountTokenInSecrets").as_bool()
        && spec.list("tokenRequests").is_empty()
    {
        let what = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        wrong.push(FieldError::invalid("spec.serviceAccountTokenInSecrets", flag, what));
    }
    wrong
}

fn wrong_token_requests(requests: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, request) in requests.iter().enumerate() {
        let path = format!("spec.tokenRequests[{at}]");
        let audience = request.text("audience");
        if !seen.insert(audience) {
            wrong.push(FieldError::duplicate(format!("{path}.audience"), audience));
            continue;
        }
        let Some(seconds) = request.int_if_set("expirationSeconds") else { continue };
        let path = format!("{path}.expirationSeconds");
        if seconds < SHORTEST_TOKEN {
            let what = "may not specify a duration less than 10 minutes";
            wrong.push(FieldError::invalid(&path, seconds, what));
        }
        if seconds > LONGEST_TOKEN {
            let what = "may not specify a duration larger than 2^32 seconds";
            wrong.push(FieldError::invalid(&path, seconds, what));
        }
    }
    wrong
}

/// The field is `attachRequired`; Kubernetes' message names another one.
fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let mut wrong = immutable(new, old, "spec.attachRequired");
    wrong.iter_mut().for_each(|error| "spec.attachedRequired".clone_into(&mut error.field));
    wrong.extend(immutable(new, old, "spec.volumeLifecycleModes"));
    wrong
}

/// The errors of a reference to a driver.
pub(crate) fn wrong_driver_name(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut wrong = Wrong::new();
    if name.len() > 63 {
        wrong.push(FieldError::too_long(path, 63));
    }
    wrong.extend(each_invalid(path, name, names::dns1123_subdomain(&name.to_lowercase())));
    wrong
}
