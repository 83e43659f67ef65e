use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::StorageClass;
use coracle_client::Api;
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;

use super::binding::{bind, set_claim_status};
use super::claim::{ClaimStep, ObservedClaim, sentence, step};
use crate::volumes::{BETA_PROVISIONER, MIGRATED_TO, PROVISIONER, csi_name, pods_using};

/// The worker of claims.
pub(super) struct Claims {
    pub(super) claims: Lister<PersistentVolumeClaim>,
    pub(super) volumes: Lister<PersistentVolume>,
    pub(super) classes: Lister<StorageClass>,
    pub(super) pods: Lister<Pod>,
    pub(super) events: EventRecorder,
    /// How often a pending claim is processed.
    pub(super) period: Duration,
}

impl Reconciler for Claims {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return pass.gone() };
        let claim = self.migrate(pass, claim).await?;
        let (volumes, classes) = (self.volumes.list(), self.classes.list());
        let waiting_pods = self.waiting_pods(key);
        let observed =
            ObservedClaim { claim: &claim, volumes: &volumes, classes: &classes, waiting_pods: &waiting_pods };
        let step = step(&observed).map_err(ReconcileError::Object)?;
        pass.decided(|| sentence(&step));
        let claims: Api<PersistentVolumeClaim> = pass.api();
        let tell = |event_type: EventType, reason: &str, message: String| {
            self.events.in_pass(pass).event(claim.as_ref(), event_type, reason, message);
        };
        match step {
            ClaimStep::Bind(volume) => {
                bind(pass, &volume, &claim).await?;
                return Ok(Action::Done);
            }
            ClaimStep::Lose(reason, message) => {
                if claim.status.phase != "Lost" {
                    set_claim_status(pass, &claim, "Lost", None).await?;
                    tell(EventType::Warning, reason, message.to_owned());
                }
                return Ok(Action::Done);
            }
            ClaimStep::Assign(class) => {
                let mut claim = claim.as_ref().clone();
                claim.spec.storage_class_name = Some(class);
                claims.update(&claim).await?;
                return Ok(Action::Done);
            }
            ClaimStep::Provision(provisioner) => {
                if claim.metadata.annotations.get(PROVISIONER) != Some(&provisioner) {
                    let mut claim = claim.as_ref().clone();
                    for name in [BETA_PROVISIONER, PROVISIONER] {
                        claim.metadata.annotations.insert(name.to_owned(), provisioner.clone());
                    }
                    claims.update(&claim).await?;
                }
                let message = format!(
                    "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by \
                     the system administrator. If volume creation is delayed, please verify that the provisioner is \
                     running and correctly registered."
                );
                tell(EventType::Normal, "ExternalProvisioning", message);
            }
            ClaimStep::Wait(event) => {
                if let Some((event_type, reason, message)) = event {
                    tell(event_type, reason, message);
                }
                set_claim_status(pass, &claim, "Pending", None).await?;
            }
            ClaimStep::Refuse((event_type, reason, message)) => tell(event_type, reason, message),
        }
        Ok(Action::RequeueAfter(self.period))
    }
}

impl Claims {
    /// The unfinished pods that use the claim and are not scheduled.
    fn waiting_pods(&self, claim: &ObjectKey) -> Vec<String> {
        let pods = pods_using(&self.pods, claim);
        let waiting = pods.iter().filter(|pod| pod.node_name().is_none() && !pod.is_finished());
        waiting.map(|pod| pod.name().to_owned()).collect()
    }

    /// Annotates the CSI driver that replaces the claim's in-tree provisioner.
    async fn migrate(
        &self,
        pass: &Pass,
        claim: Arc<PersistentVolumeClaim>,
    ) -> Result<Arc<PersistentVolumeClaim>, ReconcileError> {
        let annotations = &claim.metadata.annotations;
        let provisioner = annotations.get(PROVISIONER).or_else(|| annotations.get(BETA_PROVISIONER));
        let Some(provisioner) = provisioner else { return Ok(claim) };
        let driver = csi_name(provisioner).map(str::to_owned);
        if annotations.get(MIGRATED_TO) == driver.as_ref() {
            return Ok(claim);
        }
        let mut migrated = claim.as_ref().clone();
        match driver {
            Some(driver) => drop(migrated.metadata.annotations.insert(MIGRATED_TO.to_owned(), driver)),
            None => drop(migrated.metadata.annotations.remove(MIGRATED_TO)),
        }
        Ok(Arc::new(pass.api::<PersistentVolumeClaim>().update(&migrated).await?))
    }
}
