use std::collections::BTreeMap;

use coracle_meta::{ObjectKey, Resource};

use crate::filters::Placed;
use crate::pod_info::Unbound;

/// The volumes that unbound claims will get, for pods whose claims are being bound: the API does not show them yet.
///
/// In Kubernetes: what `AssumePodVolumes` puts into its caches.
#[derive(Debug, Default)]
pub struct Assumed {
    by_pod: BTreeMap<ObjectKey, Vec<ObjectKey>>,
    claims: BTreeMap<ObjectKey, (String, Placed)>,
}

impl Assumed {
    /// Records the node of a pod, and the choice for each of its claims.
    pub(crate) fn take(&mut self, pod: &ObjectKey, node: &str, placed: &[(Unbound, Placed)]) {
        if placed.is_empty() {
            return;
        }
        let keys: Vec<_> = placed.iter().map(|(unbound, _)| unbound.claim.key()).collect();
        for (key, (_, how)) in keys.iter().zip(placed) {
            self.claims.insert(key.clone(), (node.to_owned(), how.clone()));
        }
        self.by_pod.insert(pod.clone(), keys);
    }

    /// The pod's claims are bound, or binding failed.
    pub(crate) fn release(&mut self, pod: &ObjectKey) {
        for claim in self.by_pod.remove(pod).unwrap_or_default() {
            if !self.by_pod.values().flatten().any(|other| *other == claim) {
                self.claims.remove(&claim);
            }
        }
    }

    /// The claim that a volume is assumed for.
    pub fn owner_of(&self, volume: &str) -> Option<&ObjectKey> {
        let is_it = |how: &Placed| matches!(how, Placed::Volume(name) if name == volume);
        self.claims.iter().find(|(_, (_, how))| is_it(how)).map(|(claim, _)| claim)
    }

    /// The node for which a volume is being provisioned for a claim.
    pub fn node_of(&self, claim: &ObjectKey) -> Option<&str> {
        let (node, how) = self.claims.get(claim)?;
        (*how == Placed::Provisioned).then_some(node.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_api::core_v1::PersistentVolumeClaim;

    use super::*;

    #[test]
    fn a_shared_assumption_lasts_until_both_pods_are_done() {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some("c".to_owned());
        claim.metadata.namespace = Some("default".to_owned());
        let (candidates, claim) = (Vec::new(), Arc::new(claim));
        let unbound = Unbound { claim, selected_node: None, candidates, topologies: None, room: None };
        let (key, pod) = (unbound.claim.key(), |name: &str| ObjectKey::new("default", name));
        let mut assumed = Assumed::default();
        assumed.take(&pod("a"), "n", &[(unbound.clone(), Placed::Provisioned)]);
        assumed.take(&pod("b"), "n", &[(unbound.clone(), Placed::Provisioned)]);
        assumed.release(&pod("a"));
        assert_eq!(assumed.node_of(&key), Some("n"));
        assumed.release(&pod("b"));
        assert_eq!(assumed.node_of(&key), None);
        assumed.take(&pod("a"), "n", &[(unbound, Placed::Volume("v".to_owned()))]);
        assert_eq!((assumed.owner_of("v"), assumed.node_of(&key)), (Some(&key), None));
    }
}
