use std::sync::Arc;

use coracle_api::core_v1::{Pod, PodResourceClaim, PodResourceClaimStatus};
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimTemplate};
use coracle_client::{Patch, WriteParams};
use coracle_controller_runtime::{EventRecorder, EventType, Pass, ReconcileError};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use serde_json::json;

use super::decide::{self, Meant};

/// The index of claims by the uid of the pod that they were generated for.
pub(super) const BY_POD: &str = "owning pod";

/// The worker of pods: the claims that they request.
pub(super) struct Pods {
    pub(super) pods: Lister<Pod>,
    pub(super) claims: Lister<ResourceClaim>,
    pub(super) templates: Lister<ResourceClaimTemplate>,
    pub(super) events: EventRecorder,
    pub(super) write: WriteParams,
}

impl Pods {
    /// In Kubernetes: `syncPod`.
    pub(super) async fn sync(&self, pass: &Pass, key: &ObjectKey) -> Result<(), ReconcileError> {
        let Some(pod) = self.pods.get(key).filter(|pod| !pod.is_terminating() && !decide::is_done(pod)) else {
            return pass.done(|| "it is over, or not there: nothing to do").map(drop);
        };
        let mut made = Vec::new();
        for entry in &pod.spec.resource_claims {
            match self.make(pass, &pod, entry).await {
                Ok(name) => made.extend(name.map(|name| (entry.name.clone(), name))),
                Err(why) => {
                    let message = format!("PodResourceClaim {}: {why}", entry.name);
                    let events = self.events.in_pass(pass);
                    events.event(pod.as_ref(), EventType::Warning, "FailedResourceClaimCreation", message.as_str());
                    return Err(ReconcileError::Object(format!("pod {key}, {message}")));
                }
            }
        }
        let pod = if made.is_empty() { pod } else { Arc::new(self.tell(pass, &pod, made).await?) };
        // For an unscheduled pod the scheduler reserves the claims.
        if pod.node_name().is_some() { self.reserve(pass, &pod).await } else { Ok(()) }
    }

    /// Creates the claim of an entry without one; returns its name if the pod's status does not list it yet.
    async fn make(&self, pass: &Pass, pod: &Pod, entry: &PodResourceClaim) -> Result<Option<String>, String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let meant = Meant::of(pod, entry);
        if meant == Meant::Unneeded {
            return Ok(None);
        }
        let found = meant.name().and_then(|name| self.claims.get(&ObjectKey::new(namespace, name)));
        if found.is_some_and(|claim| meant.fits(pod, &claim)) {
            return Ok(None);
        }
        let Some(template) = &entry.resource_claim_template_name else { return Ok(None) };
        // One may exist already, without being listed in the pod's status.
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let orphans = self.claims.by_index(BY_POD, uid);
        if let Some(orphan) = orphans.iter().find(|claim| decide::is_made_of(claim, entry)) {
            return Ok(orphan.metadata.name.clone());
        }
        let missing = || {
            let error = format!("resourceclaimtemplate.resource.k8s.io {template:?} not found");
            format!("resource claim template {template:?}: {error}")
        };
        let template = self.templates.get(&ObjectKey::new(namespace, template.as_str())).ok_or_else(missing)?;
        let claim = decide::made(pod, entry, &template);
        let created = pass.api().create(&claim).await.map_err(|error| format!("create ResourceClaim : {error}"))?;
        let name = created.metadata.name.clone().unwrap_or_default();
        pass.decided(|| format!("make the claim {name} of {}", entry.name));
        Ok(Some(name))
    }

    /// Records in the pod's status which claims were created for it.
    async fn tell(&self, pass: &Pass, pod: &Pod, made: Vec<(String, String)>) -> Result<Pod, ReconcileError> {
        let mut statuses = pod.status.resource_claim_statuses.clone();
        statuses.retain(|status| made.iter().all(|(entry, _)| *entry != status.name));
        statuses.extend(made.into_iter().map(|(name, claim)| PodResourceClaimStatus {
            name,
            resource_claim_name: Some(claim),
            ..PodResourceClaimStatus::default()
        }));
        let ObjectKey { namespace, name } = coracle_meta::Resource::key(pod);
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name},
            "status": {"resourceClaimStatuses": statuses},
        });
        let api = pass.api::<Pod>().writing(self.write.clone());
        Ok(api.patch_status(&ObjectKey::new(namespace, name), &Patch::Apply { object, force: true }).await?)
    }

    async fn reserve(&self, pass: &Pass, pod: &Pod) -> Result<(), ReconcileError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        for entry in &pod.spec.resource_claims {
            let meant = Meant::of(pod, entry);
            let Some(name) = meant.name() else { continue };
            // A claim that was just created is not allocated yet.
            let Some(claim) = self.claims.get(&ObjectKey::new(namespace, name)) else { return Ok(()) };
            if !meant.fits(pod, &claim) {
                return Err(ReconcileError::Object(decide::not_for(pod, name)));
            }
            if decide::is_to_be_reserved(pod, &claim) {
                pass.decided(|| format!("reserve {name}"));
                let mut reserved = ResourceClaim::clone(&claim);
                reserved.status.reserved_for.push(decide::consumer(pod));
                pass.api().update_status(&reserved).await?;
            }
        }
        Ok(())
    }
}
