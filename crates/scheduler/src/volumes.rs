//! The volume claims of pods: which pods wait for them, and which claims wait for a pod.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_api::NodeTerm;
use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::{CSIDriver, CSIStorageCapacity, StorageClass};
use coracle_client::{Api, Client};
use coracle_controller_runtime::reference_to;
use coracle_informer::{InformerFactory, Lister};
use coracle_meta::{LabelOperator, LabelRequirement, LabelSelector, ObjectKey, Resource};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::assumed::Assumed;
use crate::filters::{Placed, ZONE_LABELS};
use crate::pod_info::{Bound, PodVolumes, StorageRoom, Unbound, VolumeInfo};
use crate::read::claims_of;
use crate::watch_volumes::largest;

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The caches of claims and volumes.
#[derive(Clone)]
pub(crate) struct Volumes {
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    classes: Lister<StorageClass>,
    drivers: Lister<CSIDriver>,
    capacities: Lister<CSIStorageCapacity>,
    /// Notifies all waiting tasks, in the order in which they started, whenever a claim or a volume changes.
    changes: Arc<Notify>,
}

impl Volumes {
    pub(crate) fn new(informers: &InformerFactory) -> Self {
        let (claims, volumes) =
            (informers.informer::<PersistentVolumeClaim>(), informers.informer::<PersistentVolume>());
        let changes = Arc::new(Notify::new());
        let (of_claims, of_volumes) = (changes.clone(), changes.clone());
        claims.add_handler("scheduler", move |_, _| of_claims.notify_waiters());
        volumes.add_handler("scheduler", move |_, _| of_volumes.notify_waiters());
        Self {
            claims: claims.lister(),
            volumes: volumes.lister(),
            classes: informers.informer().lister(),
            drivers: informers.informer().lister(),
            capacities: informers.informer().lister(),
            changes,
        }
    }

    /// The volumes of a pod for filters, given the assumed volumes of other claims.
    pub(crate) fn observe(&self, pod: &Pod, assumed: &Assumed) -> PodVolumes {
        let mut volumes = PodVolumes::default();
        volumes.refusal = self.look(pod, assumed, &mut volumes).err();
        volumes
    }

    /// # Errors
    /// Why no node can run the pod.
    fn look(&self, pod: &Pod, assumed: &Assumed, volumes: &mut PodVolumes) -> Result<(), String> {
        let mut found = Vec::new();
        for (name, is_made) in claims_of(pod) {
            found.push(self.claim(pod, &name, is_made)?);
        }
        for claim in found {
            if claim.spec.access_modes.iter().any(|mode| mode == "ReadWriteOncePod") {
                volumes.exclusive.push(claim.key().name);
            }
            if claim.is_bound() {
                let name = claim.spec.volume_name.clone();
                let volume = self.volumes.get(&ObjectKey::cluster(name.as_str()));
                volumes.bound.push(Bound { name, volume: volume.map(|volume| volume_info(&volume)) });
                continue;
            }
            let class = self.classes.get(&ObjectKey::cluster(claim.storage_class()));
            let waits = class.filter(|class| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"));
            match waits.filter(|_| claim.spec.volume_name.is_empty()) {
                Some(class) => volumes.unbound.push(self.unbound(claim, &class, assumed)),
                None => return Err("pod has unbound immediate PersistentVolumeClaims".to_owned()),
            }
        }
        Ok(())
    }

    fn claim(&self, pod: &Pod, name: &str, is_made: bool) -> Result<Arc<PersistentVolumeClaim>, String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let claim = self.claims.get(&ObjectKey::new(namespace, name)).ok_or_else(|| {
            if is_made {
                format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}")
            } else {
                format!("persistentvolumeclaim {name:?} not found")
            }
        })?;
        let volume = &claim.spec.volume_name;
        if claim.status.phase == "Lost" {
            return Err(format!("persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"));
        }
        if claim.metadata.is_terminating() {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if is_made && claim.metadata.controller().map(|owner| &owner.uid) != pod.metadata.uid.as_ref() {
            let of = format!("{namespace}/{}", pod.name());
            return Err(format!("PVC {namespace}/{name} was not created for pod {of} (pod is not owner)"));
        }
        Ok(claim)
    }

    /// A claim that waits for its pod, with its candidate volumes: a reserved one, or else the smallest first.
    fn unbound(&self, claim: Arc<PersistentVolumeClaim>, class: &StorageClass, assumed: &Assumed) -> Unbound {
        let (selector, key) = (claim.volume_selector(), claim.key());
        let owner = |volume: &PersistentVolume| assumed.owner_of(volume.metadata.name.as_deref().unwrap_or_default());
        let is_for = |volume: &PersistentVolume| volume.is_for(&claim) || owner(volume) == Some(&key);
        let mut volumes = self.volumes.list();
        volumes.retain(|volume| {
            volume.suits(&claim)
                && volume.has_modes_of(&claim)
                && (is_for(volume) || (volume.is_free_for(&claim, &selector) && owner(volume).is_none()))
        });
        if volumes.iter().any(|volume| is_for(volume)) {
            volumes.retain(|volume| is_for(volume));
        }
        volumes.sort_by_key(|volume| volume.storage());
        let can_make = !matches!(class.provisioner.as_str(), "" | "kubernetes.io/no-provisioner");
        let topology = |term: &coracle_api::core_v1::TopologySelectorTerm| LabelSelector {
            requirements: term
                .match_label_expressions
                .iter()
                .map(|one| LabelRequirement {
                    key: one.key.clone(),
                    operator: LabelOperator::In,
                    values: one.values.clone(),
                })
                .collect(),
            nothing: term.match_label_expressions.is_empty(),
        };
        Unbound {
            selected_node: claim
                .metadata
                .annotations
                .get(SELECTED_NODE)
                .cloned()
                .or_else(|| assumed.node_of(&key).map(str::to_owned)),
            room: self.room(class),
            candidates: volumes.iter().map(|volume| volume_info(volume)).collect(),
            topologies: can_make.then(|| class.allowed_topologies.iter().map(topology).collect()),
            claim,
        }
    }

    /// The storage capacity for a class, if its driver reports it.
    fn room(&self, class: &StorageClass) -> Option<Vec<StorageRoom>> {
        let driver = self.drivers.get(&ObjectKey::cluster(class.provisioner.as_str()))?;
        driver.spec.storage_capacity.filter(|counts| *counts)?;
        let name = class.key().name;
        let capacities = self.capacities.list();
        let of_class = capacities.iter().filter(|capacity| capacity.storage_class_name == name);
        let room = of_class.filter_map(|capacity| {
            let nodes = capacity.node_topology.as_deref().and_then(|selector| selector.to_selector().ok())?;
            let free = capacity.capacity.map_or(0, |size| size.value());
            Some(StorageRoom { largest: largest(capacity)?, capacity: free, nodes })
        });
        Some(room.collect())
    }

    /// Binds the pod's claims, and waits until all of them are bound.
    ///
    /// # Errors
    /// The message for the pod.
    pub(crate) async fn bind(
        &self,
        client: &Client,
        node: &str,
        placed: &[(Unbound, Placed)],
        patience: Duration,
    ) -> Result<(), String> {
        for (unbound, how) in placed {
            match how {
                Placed::Volume(name) => self.reserve(client, name, &unbound.claim).await?,
                Placed::Provisioned if !unbound.claim.metadata.annotations.contains_key(SELECTED_NODE) => {
                    let mut claim = unbound.claim.as_ref().clone();
                    claim.metadata.annotations.insert(SELECTED_NODE.to_owned(), node.to_owned());
                    Api::of(client).update(&claim).await.map_err(|error| error.to_string())?;
                }
                Placed::Provisioned => {}
            }
        }
        let bound = async {
            loop {
                // The wait is registered here, so that no change is missed while the claims are read.
                let mut changed = pin!(self.changes.notified());
                changed.as_mut().enable();
                if self.is_bound(node, placed)? {
                    return Ok(());
                }
                changed.await;
            }
        };
        timeout(patience, bound).await.unwrap_or_else(|_| Err("binding volumes: context deadline exceeded".to_owned()))
    }

    /// Sets the claim reference of a volume.
    async fn reserve(&self, client: &Client, name: &str, claim: &PersistentVolumeClaim) -> Result<(), String> {
        let Some(volume) = self.volumes.get(&ObjectKey::cluster(name)) else {
            return Err(format!("persistentvolume {name:?} not found"));
        };
        let mut reserved = volume.as_ref().clone();
        if !volume.is_for(claim) {
            reserved.metadata.annotations.entry(BOUND_BY_CONTROLLER.to_owned()).or_insert_with(|| "yes".to_owned());
        }
        if volume.spec.claim_ref.as_ref().is_none_or(|reference| reference.uid.is_empty()) {
            reserved.spec.claim_ref = Some(Box::new(reference_to(claim)));
            Api::of(client).update(&reserved).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Whether all claims are bound. In Kubernetes: `checkBindings`.
    fn is_bound(&self, node: &str, placed: &[(Unbound, Placed)]) -> Result<bool, String> {
        let mut all = true;
        for (unbound, how) in placed {
            let key = unbound.claim.key();
            let name = &key.name;
            let claim = self.claims.get(&key).ok_or_else(|| {
                format!("binding volumes: failed to check binding: could not find v1.PersistentVolumeClaim {key:?}")
            })?;
            if claim.is_bound() {
                continue;
            }
            all = false;
            // The cache may not show our own write yet.
            let is_shown = claim.metadata.resource_version != unbound.claim.metadata.resource_version;
            let selected = claim.metadata.annotations.get(SELECTED_NODE);
            if *how == Placed::Provisioned && is_shown && selected.is_none_or(|selected| selected != node) {
                return Err(format!("binding volumes: provisioning failed for PVC {name:?}"));
            }
        }
        Ok(all)
    }
}

/// The zones in a label; `None` if the label is invalid. In Kubernetes: `LabelZonesToSet`.
fn zones(volume: &PersistentVolume, label: &str) -> Option<BTreeSet<String>> {
    let zones = volume.metadata.labels.get(label)?.split("__").map(str::trim);
    let zones: Option<BTreeSet<_>> = zones.map(|zone| (!zone.is_empty()).then(|| zone.to_owned())).collect();
    zones
}

fn volume_info(volume: &PersistentVolume) -> VolumeInfo {
    let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    VolumeInfo {
        name: volume.metadata.name.clone().unwrap_or_default(),
        nodes: required.map(|required| required.node_selector_terms.iter().map(NodeTerm::from).collect()),
        capacity: volume.storage().value(),
        zones: ZONE_LABELS.into_iter().filter_map(|label| Some((label.to_owned(), zones(volume, label)?))).collect(),
    }
}
