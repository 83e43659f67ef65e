//! How pods and their ResourceClaims relate.

use std::sync::Arc;

use coracle_api::core_v1::{Pod, PodResourceClaim};
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate};
use coracle_controller_runtime::ownership::controller_reference;
use coracle_meta::{ObjectKey, OwnerReference};

/// The annotation of a generated claim with the name of the pod's entry that it was created for.
const POD_CLAIM: &str = "resource.kubernetes.io/pod-claim-name";
/// The maximum length of the fixed part of a generated name.
const LONGEST: usize = 57;

/// The claim of a pod's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// One that a user created.
    Named(String),
    /// One that was generated for the pod.
    Made(String),
    /// None: the pod's status records that none is needed.
    Unneeded,
    /// One that has not been created yet.
    Missing,
}

impl Meant {
    /// In Kubernetes: `resourceclaim.Name`.
    pub(super) fn of(pod: &Pod, entry: &PodResourceClaim) -> Self {
        if let Some(name) = &entry.resource_claim_name {
            return Self::Named(name.clone());
        }
        match pod.status.resource_claim_statuses.iter().find(|status| status.name == entry.name) {
            Some(status) => status.resource_claim_name.clone().map_or(Self::Unneeded, Self::Made),
            None => Self::Missing,
        }
    }

    /// The name of the claim, if there is one.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::Made(name) => Some(name),
            Self::Unneeded | Self::Missing => None,
        }
    }

    /// Whether the pod may use a claim of that name.
    pub(super) fn fits(&self, pod: &Pod, claim: &ResourceClaim) -> bool {
        !matches!(self, Self::Made(_)) || is_made_for(pod, claim)
    }
}

fn is_made_for(pod: &Pod, claim: &ResourceClaim) -> bool {
    claim.metadata.controller().map(|owner| &owner.uid) == pod.metadata.uid.as_ref()
}

/// The message about a claim that was generated for another pod.
pub(super) fn not_for(pod: &Pod, name: &str) -> String {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let of = format!("{namespace}/{}", pod.name());
    format!("ResourceClaim {namespace}/{name} was not created for pod {of} (pod is not owner)")
}

/// The existing claims of a pod.
pub(super) fn claims_of(pod: &Pod) -> Vec<ObjectKey> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let meant = pod.spec.resource_claims.iter().map(|entry| Meant::of(pod, entry));
    let mut names: Vec<String> = meant.filter_map(|meant| meant.name().map(str::to_owned)).collect();
    names.extend(pod.status.extended_resource_claim_status.iter().map(|status| status.resource_claim_name.clone()));
    names.into_iter().map(|name| ObjectKey::new(namespace, name)).collect()
}

/// The claims that are reserved for a pod, and that it may use.
///
/// In Kubernetes: `PodClaims`, `IsForPod`, `IsReservedForPod`.
pub(crate) fn reserved_claims(
    pod: &Pod,
    find: impl Fn(&ObjectKey) -> Option<Arc<ResourceClaim>>,
) -> Vec<Arc<ResourceClaim>> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let entries = pod.spec.resource_claims.iter().map(|entry| Meant::of(pod, entry));
    let extended = pod.status.extended_resource_claim_status.iter();
    let meant = entries.chain(extended.map(|status| Meant::Made(status.resource_claim_name.clone())));
    let is_reserved = |claim: &ResourceClaim| {
        claim.status.reserved_for.iter().any(|consumer| Some(&consumer.uid) == pod.metadata.uid.as_ref())
    };
    meant
        .filter_map(|meant| {
            let claim = find(&ObjectKey::new(namespace, meant.name()?))?;
            (meant.fits(pod, &claim) && is_reserved(&claim)).then_some(claim)
        })
        .collect()
}

/// Whether no container of a pod runs, or ever will. In Kubernetes: `isPodDone`.
pub(super) fn is_done(pod: &Pod) -> bool {
    pod.is_finished() || pod.is_terminating() && pod.node_name().is_none()
}

/// Whether a pod's claims need processing.
///
/// In Kubernetes: `podNeedsWork`. Unlike Kubernetes: a finished pod needs none; otherwise its deleted claims would be
/// created again.
pub(super) fn needs_work<'a>(pod: &Pod, find: impl Fn(&str) -> Option<Arc<ResourceClaim>> + 'a) -> bool {
    if pod.is_terminating() || is_done(pod) {
        return false;
    }
    for entry in &pod.spec.resource_claims {
        let meant = Meant::of(pod, entry);
        let name = match &meant {
            Meant::Missing => return true,
            Meant::Unneeded => return false,
            Meant::Named(name) | Meant::Made(name) => name,
        };
        match find(name) {
            None => return entry.resource_claim_template_name.is_some(),
            // The pod cannot proceed before that claim is deleted.
            Some(claim) if !meant.fits(pod, &claim) => return false,
            Some(claim) if is_to_be_reserved(pod, &claim) => return true,
            Some(_) => {}
        }
    }
    false
}

/// Whether a pod is bound and its claim is not reserved for it: it was bound without the scheduler.
pub(super) fn is_to_be_reserved(pod: &Pod, claim: &ResourceClaim) -> bool {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    pod.node_name().is_some()
        && claim.status.allocation.is_some()
        && claim.status.reserved_for.iter().all(|consumer| consumer.uid != uid)
}

/// The entry of a pod in a claim's `reservedFor`.
pub(super) fn consumer(pod: &Pod) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        resource: "pods".to_owned(),
        name: pod.name().to_owned(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ..ResourceClaimConsumerReference::default()
    }
}

/// Whether a claim was generated for this entry of the pod.
pub(super) fn is_made_of(claim: &ResourceClaim, entry: &PodResourceClaim) -> bool {
    claim.metadata.annotations.get(POD_CLAIM) == Some(&entry.name)
}

/// The pod that a claim was generated for: its name and its uid.
pub(super) fn owning_pod(claim: &ResourceClaim) -> Option<&OwnerReference> {
    claim.metadata.controller().filter(|owner| owner.api_version == "v1" && owner.kind == "Pod")
}

/// The claim to create from a template, for an entry of a pod.
pub(super) fn made(pod: &Pod, entry: &PodResourceClaim, template: &ResourceClaimTemplate) -> ResourceClaim {
    let mut claim = ResourceClaim { spec: template.spec.spec.clone(), ..ResourceClaim::default() };
    let metadata = &mut claim.metadata;
    metadata.namespace.clone_from(&pod.metadata.namespace);
    metadata.generate_name = Some(base_name(pod.name(), &entry.name));
    metadata.labels.clone_from(&template.spec.metadata.labels);
    metadata.annotations.clone_from(&template.spec.metadata.annotations);
    metadata.annotations.insert(POD_CLAIM.to_owned(), entry.name.clone());
    metadata.owner_references = vec![OwnerReference { block_owner_deletion: None, ..controller_reference(pod) }];
    claim
}

/// The prefix of the names of a pod's claims; if it is too long, both parts are shortened in proportion.
fn base_name(pod: &str, entry: &str) -> String {
    let whole = format!("{pod}-{entry}-");
    if whole.len() <= LONGEST {
        return whole;
    }
    let cut = |part: &str| part.chars().take(part.len() * LONGEST / whole.len()).collect::<String>();
    format!("{}-{}", cut(pod), cut(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(status: Value) -> Pod {
        let entries = json!([{"name": "gpu", "resourceClaimTemplateName": "t"}]);
        let metadata = json!({"namespace": "default", "name": "p", "uid": "u"});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"resourceClaims": entries}, "status": status}))
            .unwrap()
    }

    fn claim(owner: &str, status: Value) -> ResourceClaim {
        let owners = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": true}]);
        let metadata = json!({"namespace": "default", "name": "c", "ownerReferences": owners});
        serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
    }

    #[test]
    fn a_pod_needs_work_until_its_claims_are_made_and_if_it_is_bound_reserved() {
        let found = |claim: &ResourceClaim| {
            let claim = Arc::new(claim.clone());
            move |_: &str| Some(claim.clone())
        };
        let made = json!({"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]});
        let (mine, other) = (claim("u", json!({"allocation": {}})), claim("v", json!({})));
        assert!(needs_work(&pod(json!({})), |_| None));
        assert!(!needs_work(&pod(json!({"resourceClaimStatuses": [{"name": "gpu"}]})), |_| None), "it is not needed");
        assert!(needs_work(&pod(made.clone()), |_| None), "somebody has deleted it");
        assert!(!needs_work(&pod(made.clone()), found(&mine)), "the scheduler reserves it");
        assert!(!needs_work(&pod(made.clone()), found(&other)), "it is another pod's");
        let mut bound = pod(made);
        bound.spec.node_name = "n".to_owned();
        assert!(needs_work(&bound, found(&mine)));
        let mut reserved = mine;
        reserved.status.reserved_for = vec![consumer(&bound)];
        assert!(!needs_work(&bound, found(&reserved)));
        bound.spec.resource_claims[0].resource_claim_name = Some("own".to_owned());
        bound.spec.resource_claims[0].resource_claim_template_name = None;
        assert!(!needs_work(&bound, |_| None), "its user has to make it");
    }

    #[test]
    fn a_pod_uses_the_claims_that_are_reserved_for_it_unless_they_were_made_for_another() {
        let made = pod(json!({"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}));
        let used = |pod: &Pod, claim: &ResourceClaim| {
            reserved_claims(pod, |key| (key.name == "c").then(|| Arc::new(claim.clone()))).len()
        };
        let reserved = |owner: &str| claim(owner, json!({"reservedFor": [consumer(&made)]}));
        assert_eq!(used(&made, &reserved("u")), 1);
        assert_eq!(used(&made, &reserved("v")), 0);
        assert_eq!(used(&made, &claim("u", json!({}))), 0);
        assert_eq!(used(&pod(json!({})), &reserved("u")), 0, "it is not known that it was made");
        let extended = pod(json!({"extendedResourceClaimStatus": {"resourceClaimName": "c"}}));
        assert_eq!((used(&extended, &reserved("u")), used(&extended, &reserved("v"))), (1, 0));
    }

    #[test]
    fn names_that_are_too_long_are_cut_in_proportion() {
        assert_eq!(base_name("p", "gpu"), "p-gpu-");
        let cut = base_name(&"p".repeat(60), &"c".repeat(30));
        assert_eq!(cut, format!("{}-{}", "p".repeat(37), "c".repeat(18)));
    }
}
