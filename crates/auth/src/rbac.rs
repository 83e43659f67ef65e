use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{Attributes, Authorizer, Decision, Derived, Lists, PerObject, Registry, Rules, User};

use crate::Policy;
use crate::policy_part::PolicyPart;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The resources of a policy, and their kinds.
const PARTS: [(&str, &str); 4] = [
    ("clusterroles", "ClusterRole"),
    ("roles", "Role"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("rolebindings", "RoleBinding"),
];

/// Allows what the roles bound to the user allow. In Kubernetes: the authorization mode `RBAC`.
///
/// A change of a binding takes effect with the next request.
#[derive(Debug)]
pub struct Rbac {
    known: Derived<KnownPolicy>,
}

/// A policy, and what each object adds to it.
#[derive(Debug, Default)]
struct KnownPolicy {
    policy: Arc<Policy>,
    parts: [PerObject<PolicyPart>; PARTS.len()],
}

impl Default for Rbac {
    fn default() -> Self {
        Self { known: Derived::new(|_| PARTS.map(|(plural, _)| resource(plural)).to_vec(), make) }
    }
}

impl Rbac {
    /// The current policy.
    pub async fn policy(&self, registry: &Registry) -> Result<Arc<Policy>, Status> {
        Ok(Arc::clone(&self.known.current(registry).await?.policy))
    }
}

/// The previous policy with its changed parts replaced.
fn make(lists: &Lists, before: &KnownPolicy) -> KnownPolicy {
    let mut policy = Policy::clone(&before.policy);
    let parts = std::array::from_fn(|index| {
        let ((plural, kind), known) = (PARTS[index], &before.parts[index]);
        let Some(parts) = known.changed(lists, &resource(plural), PolicyPart::read) else { return known.clone() };
        policy.replace(kind, parts.iter());
        parts
    });
    KnownPolicy { policy: Arc::new(policy), parts }
}

fn resource(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", plural)
}

#[async_trait]
impl Authorizer for Rbac {
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        let policy = self.policy(registry).await?;
        Ok(match policy.allows(&attributes.user, &attributes.verb, &attributes.target) {
            Ok(why) => Decision::Allow(why),
            Err(why) => Decision::NoOpinion(why),
        })
    }

    async fn rules(&self, registry: &Registry, user: &User, namespace: &str) -> Result<Rules, Status> {
        let policy = self.policy(registry).await?;
        let mut rules = Rules::default();
        for (resources, paths) in policy.rules(user, namespace).iter().map(crate::Rule::tell) {
            rules.resources.extend(resources);
            rules.paths.extend(paths);
        }
        Ok(rules)
    }
}
