use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{Attributes, Authorizer, Decision, ListOptions, Registry, Request, Rules, User, Verb};

use crate::Policy;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The resources that make a policy, and the kinds of their objects.
const PARTS: [(&str, &str); 4] = [
    ("clusterroles", "ClusterRole"),
    ("roles", "Role"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("rolebindings", "RoleBinding"),
];

/// Allows what roles say that are bound to the user. In Kubernetes: the authorization mode `RBAC`.
///
/// Reads the roles and bindings again when one of them has changed, so that a binding counts from the next request on.
#[derive(Debug, Default)]
pub struct Rbac {
    known: Mutex<Known>,
}

/// The policy as of the last change of each of its parts.
#[derive(Clone, Debug, Default)]
struct Known {
    revisions: [i64; PARTS.len()],
    policy: Arc<Policy>,
}

impl Rbac {
    /// The policy of this moment.
    pub async fn policy(&self, registry: &Registry) -> Result<Arc<Policy>, Status> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut revisions = known.revisions;
        for (revision, (plural, _)) in revisions.iter_mut().zip(PARTS) {
            *revision = registry.last_change(&resource(plural)).await?;
        }
        if revisions == known.revisions {
            return Ok(known.policy);
        }
        let mut policy = Policy::clone(&known.policy);
        for (index, (plural, kind)) in PARTS.into_iter().enumerate() {
            if revisions[index] != known.revisions[index] {
                let request = Request::new(Verb::List, resource(plural), registry.ambient().clock.now());
                let at_hand = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
                let list = registry.list(&request, &at_hand).await?;
                policy.replace(kind, list.items.iter().map(|item| item.object()));
            }
        }
        let policy = Arc::new(policy);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Known { revisions, policy: Arc::clone(&policy) };
        Ok(policy)
    }
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
