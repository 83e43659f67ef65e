//! What a claim needs next.

use std::sync::Arc;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_api::storage_v1::StorageClass;
use coracle_controller_runtime::EventType;

use super::matching::{find, mismatch};
use crate::volumes::{BIND_COMPLETED, BOUND_BY_CONTROLLER, IN_TREE_PREFIX, SELECTED_NODE, csi_name, default_class};

/// What a sync sees of a claim.
#[derive(Debug)]
pub(super) struct ObservedClaim<'a> {
    pub(super) claim: &'a PersistentVolumeClaim,
    pub(super) volumes: &'a [Arc<PersistentVolume>],
    pub(super) classes: &'a [Arc<StorageClass>],
    /// The names of the pods that use it and are not scheduled.
    pub(super) waiting_pods: &'a [String],
}

/// An event: type, reason, message.
pub(super) type ClaimEvent = (EventType, &'static str, String);

/// What to do for a claim.
#[derive(Debug, PartialEq)]
pub(super) enum ClaimStep {
    /// Bind it to this volume, or complete the binding.
    Bind(Arc<PersistentVolume>),
    /// Set the default class.
    Assign(String),
    /// Let this provisioner create a volume.
    Provision(String),
    /// Set it to pending, and report why.
    Wait(Option<ClaimEvent>),
    /// Report why it cannot be processed, and leave it unchanged.
    Refuse(ClaimEvent),
    /// Set its phase to lost, unless it is already.
    Lose(&'static str, &'static str),
}

/// What to do for a claim.
///
/// # Errors
/// If the claim or its class is malformed.
pub(super) fn step(observed: &ObservedClaim<'_>) -> Result<ClaimStep, String> {
    let claim = observed.claim;
    let name = claim.spec.volume_name.as_str();
    let volume = observed.volumes.iter().find(|volume| volume.metadata.name.as_deref() == Some(name));
    let is_bound = claim.metadata.annotations.contains_key(BIND_COMPLETED);
    match (is_bound, name.is_empty(), volume) {
        (false, true, _) => choose(observed),
        (false, false, volume) => Ok(requested(claim, volume)),
        (true, true, _) => Ok(ClaimStep::Lose(
            "ClaimLost",
            "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
        )),
        (true, false, None) => {
            Ok(ClaimStep::Lose("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"))
        }
        (true, false, Some(volume)) => Ok(match &volume.spec.claim_ref {
            Some(reference) if Some(&reference.uid) != claim.metadata.uid.as_ref() => ClaimStep::Lose(
                "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly",
            ),
            _ => ClaimStep::Bind(volume.clone()),
        }),
    }
}

/// The claim names a volume.
fn requested(claim: &PersistentVolumeClaim, volume: Option<&Arc<PersistentVolume>>) -> ClaimStep {
    let Some(volume) = volume else { return ClaimStep::Wait(None) };
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    if volume.spec.claim_ref.is_none() {
        return match mismatch(volume, claim) {
            None => ClaimStep::Bind(volume.clone()),
            Some(why) => {
                let message = format!("Cannot bind to requested volume {name:?}: {why}");
                ClaimStep::Wait(Some((EventType::Warning, "VolumeMismatch", message)))
            }
        };
    }
    if volume.is_for(claim) {
        return ClaimStep::Bind(volume.clone());
    }
    let event = (EventType::Warning, "FailedBinding", format!("volume {name:?} already bound to a different claim."));
    // A claim that the controller itself has bound should never get here, so it is left unchanged.
    if claim.metadata.annotations.contains_key(BOUND_BY_CONTROLLER) {
        ClaimStep::Refuse(event)
    } else {
        ClaimStep::Wait(Some(event))
    }
}

/// The claim does not name a volume, so the controller chooses.
fn choose(observed: &ObservedClaim<'_>) -> Result<ClaimStep, String> {
    let claim = observed.claim;
    let name = claim.storage_class();
    let class = observed.classes.iter().find(|class| class.metadata.name.as_deref() == Some(name));
    let class = class.filter(|_| !name.is_empty());
    let delayed = match class {
        Some(class) => {
            let mode = class.volume_binding_mode.as_deref();
            mode.ok_or_else(|| format!("VolumeBindingMode not set for StorageClass {name:?}"))?
                == "WaitForFirstConsumer"
        }
        None => false,
    };
    if let Some(volume) = find(claim, observed.volumes, delayed)? {
        return Ok(ClaimStep::Bind(volume));
    }
    if !claim.names_storage_class()
        && let Some(class) = default_class(observed.classes)
    {
        return Ok(ClaimStep::Assign(class.metadata.name.clone().unwrap_or_default()));
    }
    let is_placed = claim.metadata.annotations.contains_key(SELECTED_NODE);
    Ok(if delayed && !is_placed {
        ClaimStep::Wait(Some(waits_for_pods(observed.waiting_pods)))
    } else if name.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        ClaimStep::Wait(Some((EventType::Normal, "FailedBinding", message.to_owned())))
    } else {
        match class {
            None => fail(format!("storageclass.storage.k8s.io {name:?} not found")),
            Some(class) => provision(&class.provisioner),
        }
    })
}

fn waits_for_pods(pods: &[String]) -> ClaimEvent {
    let (reason, message) = match pods {
        [] => ("WaitForFirstConsumer", "waiting for first consumer to be created before binding".to_owned()),
        [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
        pods => ("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", pods.join(","))),
    };
    (EventType::Normal, reason, message)
}

/// In-tree provisioners do not exist any more.
fn provision(provisioner: &str) -> ClaimStep {
    if let Some(driver) = csi_name(provisioner) {
        return ClaimStep::Provision(driver.to_owned());
    }
    match provisioner {
        "kubernetes.io/host-path" => fail(
            "Failed to create provisioner: provisioning in volume plugin \"kubernetes.io/host-path\" is disabled"
                .to_owned(),
        ),
        "kubernetes.io/nfs" | "kubernetes.io/fc" | "kubernetes.io/iscsi" | "kubernetes.io/csi" => {
            fail("no provisionable volume plugin matched".to_owned())
        }
        other if other.starts_with(IN_TREE_PREFIX) => fail(format!("no volume plugin matched name: {other}")),
        other => ClaimStep::Provision(other.to_owned()),
    }
}

fn fail(message: String) -> ClaimStep {
    ClaimStep::Refuse((EventType::Warning, "ProvisioningFailed", message))
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(step: &ClaimStep) -> String {
    match step {
        ClaimStep::Bind(volume) => format!("bind to {}", volume.metadata.name.as_deref().unwrap_or_default()),
        ClaimStep::Assign(class) => format!("has no class: give it {class}"),
        ClaimStep::Provision(provisioner) => format!("no volume fits: {provisioner} shall make one"),
        ClaimStep::Wait(Some((_, _, why))) | ClaimStep::Refuse((_, _, why)) => format!("wait: {why}"),
        ClaimStep::Wait(None) => "wait for the volume that it names".to_owned(),
        ClaimStep::Lose(_, why) => (*why).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::ObjectReference;

    fn claim(class: Option<&str>) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some("c".to_owned());
        claim.metadata.uid = Some("u".to_owned());
        claim.metadata.namespace = Some("default".to_owned());
        claim.spec.storage_class_name = class.map(str::to_owned);
        claim
    }

    fn class(name: &str, provisioner: &str, mode: &str) -> Arc<StorageClass> {
        let mut class = StorageClass { provisioner: provisioner.to_owned(), ..StorageClass::default() };
        class.metadata.name = Some(name.to_owned());
        class.volume_binding_mode = Some(mode.to_owned());
        Arc::new(class)
    }

    fn volume(name: &str) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some(name.to_owned());
        volume.status.phase = "Available".to_owned();
        volume
    }

    fn decided(claim: &PersistentVolumeClaim, volumes: &[PersistentVolume], pods: &[&str]) -> ClaimStep {
        let classes = [
            class("fast", "csi.example.com", "Immediate"),
            class("later", "csi.example.com", "WaitForFirstConsumer"),
            class("none", "kubernetes.io/no-provisioner", "Immediate"),
        ];
        let volumes: Vec<_> = volumes.iter().cloned().map(Arc::new).collect();
        let waiting_pods: Vec<_> = pods.iter().map(|&pod| pod.to_owned()).collect();
        step(&ObservedClaim { claim, volumes: &volumes, classes: &classes, waiting_pods: &waiting_pods }).unwrap()
    }

    fn event_text(step: ClaimStep) -> String {
        match step {
            ClaimStep::Wait(Some((_, reason, message))) | ClaimStep::Refuse((_, reason, message)) => {
                format!("{reason}: {message}")
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_a_volume_the_class_decides() {
        assert_eq!(decided(&claim(Some("fast")), &[], &[]), ClaimStep::Provision("csi.example.com".to_owned()));
        let text = |class, pods: &[&str]| event_text(decided(&claim(Some(class)), &[], pods));
        assert_eq!(text("later", &[]), "WaitForFirstConsumer: waiting for first consumer to be created before binding");
        assert_eq!(text("later", &["p"]), "WaitForPodScheduled: waiting for pod p to be scheduled");
        assert_eq!(text("later", &["p", "q"]), "WaitForPodScheduled: waiting for pods p,q to be scheduled");
        assert_eq!(text("gone", &[]), "ProvisioningFailed: storageclass.storage.k8s.io \"gone\" not found");
        let no_provisioner = "ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner";
        assert_eq!(text("none", &[]), no_provisioner);
        assert!(text("", &[]).starts_with("FailedBinding: no persistent volumes available"));
        let mut placed = claim(Some("later"));
        placed.metadata.annotations.insert(SELECTED_NODE.to_owned(), "n".to_owned());
        assert!(matches!(decided(&placed, &[], &[]), ClaimStep::Provision(_)));
    }

    #[test]
    fn a_named_volume_is_taken_if_it_will_do_and_is_free() {
        let mut claim = claim(None);
        claim.spec.volume_name = "v".to_owned();
        assert_eq!(decided(&claim, &[], &[]), ClaimStep::Wait(None));
        assert_eq!(decided(&claim, &[volume("v")], &[]), ClaimStep::Bind(volume("v").into()));
        let mut other = volume("v");
        other.spec.storage_class_name = "fast".to_owned();
        assert_eq!(
            event_text(decided(&claim, &[other], &[])),
            "VolumeMismatch: Cannot bind to requested volume \"v\": storageClassName does not match"
        );
        let mut taken = volume("v");
        taken.spec.claim_ref = Some(Box::new(ObjectReference { name: "d".to_owned(), ..ObjectReference::default() }));
        assert_eq!(
            event_text(decided(&claim, &[taken], &[])),
            "FailedBinding: volume \"v\" already bound to a different claim."
        );
    }

    #[test]
    fn a_bound_claim_without_its_volume_is_lost() {
        let mut claim = claim(None);
        claim.metadata.annotations.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
        assert!(matches!(decided(&claim, &[], &[]), ClaimStep::Lose("ClaimLost", _)));
        claim.spec.volume_name = "v".to_owned();
        assert!(matches!(decided(&claim, &[], &[]), ClaimStep::Lose("ClaimLost", _)));
        assert!(matches!(decided(&claim, &[volume("v")], &[]), ClaimStep::Bind(_)));
        let mut of_another = volume("v");
        of_another.spec.claim_ref = Some(Box::default());
        assert!(matches!(decided(&claim, &[of_another], &[]), ClaimStep::Lose("ClaimMisbound", _)));
    }
}
