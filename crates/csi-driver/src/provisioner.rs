//! Creates volumes for claims whose class names the driver.
//!
//! In Kubernetes: external-provisioner, `sig-storage-lib-external-provisioner`.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{CSIPersistentVolumeSource, Node, PersistentVolume, PersistentVolumeClaim};
use coracle_api::storage_v1::{CSINode, StorageClass};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, reference_to,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use crate::DRIVER;
use crate::behaviour::{Behaviour, CsiCall, CsiOutcome, failure};
use crate::calls::Calls;
use crate::topology::{TopologyScope, affinity, place};

/// The finalizer that keeps a volume until the driver has deleted its storage.
pub(super) const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// The annotation with the driver that created a volume.
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The annotation with the driver that has to create a volume for a claim, and its older name.
const PROVISIONER: [&str; 2] =
    ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
/// The annotation with the node whose pod waits for the volume.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The secret for the deletion of a volume: none.
const DELETION_SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];
const STORAGE: &str = "storage";
/// How long a failed call waits for its retry: at first and at most.
pub(super) const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

pub(super) fn start(process: &Process) -> BoxFuture<'static, ()> {
    let informers = &process.informers;
    let (claims, classes) = (informers.informer::<PersistentVolumeClaim>(), informers.informer::<StorageClass>());
    let (nodes, csi_nodes) = (informers.informer::<Node>(), informers.informer::<CSINode>());
    let volumes = informers.informer::<PersistentVolume>();
    // external-provisioner names itself like this: the driver and the instance.
    let component = format!("{DRIVER}_csi-sim_{}", process.ambient.random.split("provisioner").uuid());
    let reconciler = Provisioner {
        claims: claims.lister(),
        classes: classes.lister(),
        nodes: nodes.lister(),
        csi_nodes: csi_nodes.lister(),
        volumes: volumes.lister(),
        events: EventRecorder::new(process, &component),
        calls: Calls::default(),
    };
    let queue = process.queue("provisioner", RateLimiter::exponential(RETRY.0, RETRY.1));
    let all = claims.lister();
    let controller = Controller::on_queue(process, "provisioner", queue, reconciler)
        .watches(&claims, key_of)
        .watches(&classes, move |change| of_class(&all, change))
        .reads(&nodes)
        .reads(&csi_nodes)
        .reads(&volumes)
        .workers(10);
    Box::pin(controller.run())
}

/// The claims that wait for a class, and may continue now.
fn of_class(claims: &Lister<PersistentVolumeClaim>, change: &Notification<StorageClass>) -> Vec<ObjectKey> {
    let class = change.object();
    let waits = |claim: &Arc<PersistentVolumeClaim>| {
        claim.spec.volume_name.is_empty() && Some(claim.storage_class()) == class.metadata.name.as_deref()
    };
    claims.list().into_iter().filter(waits).map(|claim| claim.key()).collect()
}

struct Provisioner {
    claims: Lister<PersistentVolumeClaim>,
    classes: Lister<StorageClass>,
    nodes: Lister<Node>,
    csi_nodes: Lister<CSINode>,
    volumes: Lister<PersistentVolume>,
    events: EventRecorder,
    calls: Calls,
}

impl Reconciler for Provisioner {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let claim = self.claims.get(key);
        let class = claim.as_ref().and_then(|claim| self.classes.get(&ObjectKey::cluster(claim.storage_class())));
        let (Some(claim), Some(class)) = (claim, class) else {
            self.calls.end(key);
            return pass.done(|| "it asks for no class that is there, or is not there: nothing to do");
        };
        if !is_wanted(&claim, &class) || self.volumes.get(&ObjectKey::cluster(volume_name(&claim))).is_some() {
            self.calls.end(key);
            return pass.done(|| "it needs no volume now: nothing to do");
        }
        let tell = |event_type, reason: &str, message: String| {
            self.events.in_pass(pass).event(claim.as_ref(), event_type, reason, message);
        };
        let behaviour =
            match Behaviour::of(CsiCall::Provision, &[&claim.metadata.annotations, &class.metadata.annotations]) {
                Ok(behaviour) => behaviour,
                Err(why) => {
                    tell(EventType::Warning, "InvalidBehaviour", why.to_string());
                    return pass.done(|| why.to_string());
                }
            };
        let call = self.calls.progress(key, behaviour.takes);
        if call.is_new {
            let message = format!("External provisioner is provisioning volume for claim \"{key}\"");
            tell(EventType::Normal, "Provisioning", message);
        }
        if let Some(action) = self.calls.wait(pass, key, behaviour.outcome, call) {
            return Ok(action);
        }
        let made = match behaviour.outcome {
            CsiOutcome::Fails => Err(failure(CsiCall::Provision)),
            CsiOutcome::Exhausted => {
                let node = claim.metadata.annotations.get(SELECTED_NODE).map_or("", String::as_str);
                Err(format!("rpc error: code = ResourceExhausted desc = no room for a volume on node {node:?}"))
            }
            _ => self.make(&claim, &class),
        };
        let volume = match made {
            Ok(volume) => volume,
            Err(why) => {
                let message = format!("failed to provision volume with StorageClass {:?}: {why}", class.key().name);
                tell(EventType::Warning, "ProvisioningFailed", message.clone());
                if behaviour.outcome != CsiOutcome::Exhausted || !claim.metadata.annotations.contains_key(SELECTED_NODE)
                {
                    return Err(ReconcileError::Object(message));
                }
                pass.decided(|| "no room there: the scheduler shall choose another node");
                pass.update(claim.as_ref(), |claim| drop(claim.metadata.annotations.remove(SELECTED_NODE))).await?;
                return Ok(Action::Done);
            }
        };
        pass.decided(|| format!("make {}", volume.key()));
        if pass.create_if_missing(&volume).await?.is_some() {
            let message = format!("Successfully provisioned volume {}", volume.key().name);
            tell(EventType::Normal, "ProvisioningSucceeded", message);
        }
        Ok(Action::Done)
    }
}

impl Provisioner {
    /// Creates the volume object for a claim.
    fn make(&self, claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<PersistentVolume, String> {
        if claim.spec.selector.is_some() {
            return Err("claim Selector is not supported".to_owned());
        }
        if claim.spec.data_source.is_some() || claim.spec.data_source_ref.is_some() {
            let why = "volumes made from other volumes or from snapshots are not simulated";
            return Err(format!("rpc error: code = Unimplemented desc = {why}"));
        }
        let scope = TopologyScope::of(class)?;
        let selected = claim.metadata.annotations.get(SELECTED_NODE).map(String::as_str);
        let with_driver = |node: Arc<Node>| {
            let csi = self.csi_nodes.get(&node.key());
            (node, csi)
        };
        let nodes: Vec<_> = match selected {
            Some(name) => self.nodes.get(&ObjectKey::cluster(name)).into_iter().map(with_driver).collect(),
            None => self.nodes.list().into_iter().map(with_driver).collect(),
        };
        let placed = place(scope, class, &claim.key().name, selected, &nodes)?;
        let mut volume = volume(claim, class);
        volume.spec.node_affinity = placed.map(|(label, value)| Box::new(affinity(label, value)));
        Ok(volume)
    }
}

/// Whether the driver has to create a volume for the claim now. In Kubernetes: `shouldProvision`.
fn is_wanted(claim: &PersistentVolumeClaim, class: &StorageClass) -> bool {
    let annotations = &claim.metadata.annotations;
    let provisioner = PROVISIONER.iter().find_map(|name| annotations.get(*name));
    let is_own = provisioner.is_some_and(|provisioner| provisioner == DRIVER) && class.provisioner == DRIVER;
    let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
        && annotations.get(SELECTED_NODE).is_none_or(String::is_empty);
    claim.spec.volume_name.is_empty() && !claim.metadata.is_terminating() && is_own && !waits
}

/// The name of the volume of a claim.
fn volume_name(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default())
}

/// The volume for a claim, without its node affinity.
fn volume(claim: &PersistentVolumeClaim, class: &StorageClass) -> PersistentVolume {
    let mut volume = PersistentVolume::default();
    let name = volume_name(claim);
    volume.metadata.name = Some(name.clone());
    volume.metadata.finalizers = vec![FINALIZER.to_owned()];
    volume.metadata.annotations = Behaviour::annotations(&class.metadata.annotations);
    volume.metadata.annotations.insert(PROVISIONED_BY.to_owned(), DRIVER.to_owned());
    for annotation in DELETION_SECRET {
        volume.metadata.annotations.insert(annotation.to_owned(), String::new());
    }
    let is_block = claim.spec.volume_mode.as_deref() == Some("Block");
    let file_system = class.parameters.get("csi.storage.k8s.io/fstype").map_or("ext4", String::as_str);
    let spec = &mut volume.spec;
    spec.access_modes.clone_from(&claim.spec.access_modes);
    spec.capacity = [(STORAGE.to_owned(), claim.requested_storage())].into();
    spec.claim_ref = Some(Box::new(reference_to(claim)));
    spec.mount_options.clone_from(&class.mount_options);
    spec.persistent_volume_reclaim_policy = class.reclaim_policy.clone().unwrap_or_else(|| "Delete".to_owned());
    spec.storage_class_name = claim.storage_class().to_owned();
    spec.volume_mode.clone_from(&claim.spec.volume_mode);
    spec.volume_attributes_class_name.clone_from(&claim.spec.volume_attributes_class_name);
    spec.csi = Some(Box::new(CSIPersistentVolumeSource {
        driver: DRIVER.to_owned(),
        volume_handle: name,
        fs_type: if is_block { String::new() } else { file_system.to_owned() },
        volume_attributes: [("storage.kubernetes.io/csiProvisionerIdentity".to_owned(), DRIVER.to_owned())].into(),
        ..CSIPersistentVolumeSource::default()
    }));
    volume
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim() -> PersistentVolumeClaim {
        serde_json::from_value(json!({
            "metadata": {"name": "data", "namespace": "shop", "uid": "u", "annotations": {PROVISIONER[0]: DRIVER}},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": "3Gi"}}},
        }))
        .unwrap()
    }

    fn class(mode: &str) -> StorageClass {
        serde_json::from_value(json!({
            "metadata": {"name": "fast", "annotations": {"coracle.dev/attach-delay": "5s", "example.com/a": "b"}},
            "provisioner": DRIVER, "volumeBindingMode": mode, "reclaimPolicy": "Retain",
        }))
        .unwrap()
    }

    #[test]
    fn a_volume_is_made_for_a_claim_of_the_driver_once_its_pod_has_a_node_if_it_waits_for_that() {
        assert!(is_wanted(&claim(), &class("Immediate")));
        assert!(!is_wanted(&claim(), &class("WaitForFirstConsumer")));
        let mut selected = claim();
        selected.metadata.annotations.insert(SELECTED_NODE.to_owned(), "n".to_owned());
        assert!(is_wanted(&selected, &class("WaitForFirstConsumer")));
        let mut of_another = claim();
        of_another.metadata.annotations.insert(PROVISIONER[0].to_owned(), "other.example.com".to_owned());
        assert!(!is_wanted(&of_another, &class("Immediate")));
        let mut bound = claim();
        bound.spec.volume_name = "v".to_owned();
        assert!(!is_wanted(&bound, &class("Immediate")));
    }

    #[test]
    fn a_volume_is_what_its_claim_asks_for_and_behaves_as_its_class_says() {
        let volume = volume(&claim(), &class("Immediate"));
        assert_eq!(volume.metadata.name.as_deref(), Some("pvc-u"));
        assert_eq!(volume.spec.capacity[STORAGE].to_string(), "3Gi");
        assert_eq!(volume.spec.persistent_volume_reclaim_policy, "Retain");
        assert!(volume.is_for(&claim()));
        assert_eq!(volume.metadata.annotations["coracle.dev/attach-delay"], "5s");
        assert!(!volume.metadata.annotations.contains_key("example.com/a"));
        assert_eq!(volume.spec.csi.unwrap().fs_type, "ext4");
    }
}
