use async_trait::async_trait;
use coracle_meta::{FieldRequirement, FieldSelector, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{
    Attributes, Authorizer, Decision, GetOptions, ListOptions, Registry, Request, Rules, Target, User, Verb,
};
use serde_json::Value;

use crate::policy::rules_in;
use crate::{Rule, bootstrap_policy};

/// Allows a node what kubelets need: its own objects, and what the pods bound to it refer to.
///
/// In Kubernetes: the authorization mode `Node` (`plugin/pkg/auth/authorizer/node`).
#[derive(Clone, Debug)]
pub struct NodeAuthorizer {
    /// What any node may do, whatever the object: the role `system:node`, which nobody is bound to.
    rules: Vec<Rule>,
}

impl NodeAuthorizer {
    /// What of Kubernetes' node authorizer is missing here.
    pub const LIMITS: &str = "the node authorizer does not follow references to attached volumes and resource claims: nodes may not read VolumeAttachments and ResourceClaims";

    /// With the rules that Kubernetes has for nodes.
    pub fn new() -> Self {
        let policy = bootstrap_policy();
        let role = policy.iter().find(|object| object.kind() == "ClusterRole" && object.name() == "system:node");
        Self { rules: role.map(rules_in).unwrap_or_default() }
    }

    async fn decide(
        &self,
        registry: &Registry,
        node: &str,
        attributes: &Attributes,
        at: &ResourcePath,
    ) -> Result<Decision, Status> {
        let (verb, target, selected) = (attributes.verb.as_str(), &attributes.target, &attributes.field_selector);
        let reference = match (at.resource.group.as_str(), at.resource.resource.as_str()) {
            ("", "secrets") => Some(References::Secret),
            ("", "configmaps") => Some(References::ConfigMap),
            ("", "persistentvolumeclaims") => Some(References::Claim),
            ("", "persistentvolumes") => Some(References::Volume),
            ("", "serviceaccounts") => Some(References::Account),
            _ => None,
        };
        if let Some(reference) = reference {
            return self.decide_referenced(registry, node, verb, at, reference).await;
        }
        let own = match (at.resource.group.as_str(), at.resource.resource.as_str()) {
            ("coordination.k8s.io", "leases") => {
                at.namespace == "kube-node-lease" && (verb == "create" || at.name == node)
            }
            ("storage.k8s.io", "csinodes") => verb == "create" || at.name == node,
            ("storage.k8s.io", "volumeattachments") | ("resource.k8s.io", "resourceclaims") => false,
            ("resource.k8s.io", "resourceslices") => {
                selected.exact("spec.nodeName") == Some(node) || at.name.starts_with(node)
            }
            ("", "nodes") if matches!(verb, "update" | "patch") => at.name == node,
            _ => true,
        };
        if !own {
            let why = format!("can only access node {} with the same name as requesting node", at.resource.resource);
            return Ok(Decision::NoOpinion(why));
        }
        let allowed = self.rules.iter().any(|rule| rule.allows(verb, target));
        Ok(if allowed { Decision::Allow(String::new()) } else { Decision::NoOpinion(String::new()) })
    }

    async fn decide_referenced(
        &self,
        registry: &Registry,
        node: &str,
        verb: &str,
        at: &ResourcePath,
        reference: References,
    ) -> Result<Decision, Status> {
        let verb_fits = match (reference, at.subresource.as_str()) {
            (References::Secret | References::ConfigMap, "") => matches!(verb, "get" | "list" | "watch"),
            (References::Account, "token") => verb == "create",
            (References::Claim, "status") => matches!(verb, "get" | "update" | "patch"),
            (_, "") => verb == "get",
            _ => false,
        };
        if !verb_fits {
            return Ok(Decision::NoOpinion(format!(
                "a node cannot {verb} {}/{}",
                at.resource.resource, at.subresource
            )));
        }
        if at.name.is_empty() {
            return Ok(Decision::NoOpinion("No Object name found".to_owned()));
        }
        for pod in pods_of(registry, node).await? {
            if reference.is_made_by(registry, &pod, at).await? {
                return Ok(Decision::Allow(String::new()));
            }
        }
        Ok(Decision::NoOpinion(format!("no relationship found between node '{node}' and this object")))
    }
}

impl Default for NodeAuthorizer {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Authorizer for NodeAuthorizer {
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        let Some(node) = node_of(&attributes.user) else { return Ok(Decision::NoOpinion(String::new())) };
        match &attributes.target {
            Target::Resource(at) => self.decide(registry, node, attributes, at).await,
            Target::Path(_) => Ok(Decision::NoOpinion(String::new())),
        }
    }

    async fn rules(&self, _registry: &Registry, user: &User, _namespace: &str) -> Result<Rules, Status> {
        let mut rules = Rules::default();
        if node_of(user).is_some() {
            rules.incomplete = true;
            rules.evaluation_error = "node authorizer does not support user rule resolution".to_owned();
        }
        Ok(rules)
    }
}

/// The node that a user is.
fn node_of(user: &User) -> Option<&str> {
    let node = user.name.strip_prefix("system:node:")?;
    (user.is_in("system:nodes") && !node.is_empty()).then_some(node)
}

/// The pods that are bound to a node.
async fn pods_of(registry: &Registry, node: &str) -> Result<Vec<std::sync::Arc<Object>>, Status> {
    let resource = GroupVersionResource::new("", "v1", "pods");
    let request = Request::new(Verb::List, resource, registry.ambient().clock.now());
    let requirement = FieldRequirement { field: "spec.nodeName".into(), equal: true, value: node.into() };
    let options =
        ListOptions { field_selector: FieldSelector { requirements: vec![requirement] }, ..ListOptions::default() };
    let list = registry.list(&request, &options).await?;
    Ok(list.items.iter().map(|item| item.object()).collect())
}

/// What a pod may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum References {
    Secret,
    ConfigMap,
    Claim,
    Volume,
    Account,
}

impl References {
    /// Whether `pod` refers to the object.
    async fn is_made_by(self, registry: &Registry, pod: &Object, at: &ResourcePath) -> Result<bool, Status> {
        if self != Self::Volume {
            return Ok(pod.namespace() == at.namespace && self.names(pod).any(|name| name == at.name));
        }
        // A pod refers to a claim, and the claim to its volume.
        for claim in Self::Claim.names(pod) {
            let resource = GroupVersionResource::new("", "v1", "persistentvolumeclaims");
            let request = Request::new(Verb::Get, resource, registry.ambient().clock.now());
            match registry.get(&request.object(pod.namespace(), claim), &GetOptions::default()).await {
                Ok(claim) if claim.object().text("spec.volumeName") == at.name => return Ok(true),
                Err(status) if !status.is_not_found() => return Err(status),
                _ => {}
            }
        }
        Ok(false)
    }

    /// The names of this sort that a pod contains.
    fn names(self, pod: &Object) -> impl Iterator<Item = &str> {
        let mut names = Vec::new();
        if self == Self::Account {
            names.push(pod.text("spec.serviceAccountName"));
        } else if let Some(spec) = pod.field("spec") {
            self.collect(spec, &mut names);
        }
        names.into_iter().filter(|name| !name.is_empty())
    }

    /// Looks for the fields by which pods refer to things, wherever they stand: in volumes, their projections,
    /// environments, and lists of pull secrets.
    fn collect<'a>(self, value: &'a Value, names: &mut Vec<&'a str>) {
        let fields: &[(&str, &str)] = match self {
            Self::Secret => &[
                ("secret", "secretName"),
                ("secret", "name"),
                ("secretKeyRef", "name"),
                ("secretRef", "name"),
                ("nodePublishSecretRef", "name"),
            ],
            Self::ConfigMap => &[("configMap", "name"), ("configMapKeyRef", "name"), ("configMapRef", "name")],
            Self::Claim => &[("persistentVolumeClaim", "claimName")],
            Self::Volume | Self::Account => &[],
        };
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    for (_, inner) in fields.iter().filter(|(outer, _)| outer == name) {
                        names.extend(member.get(*inner).and_then(Value::as_str));
                    }
                    if self == Self::Secret && name == "imagePullSecrets" {
                        let secrets = member.as_array().into_iter().flatten();
                        names.extend(secrets.filter_map(|secret| secret.get("name")?.as_str()));
                    }
                    self.collect(member, names);
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.collect(element, names)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_is_a_user_of_its_name_in_the_group_of_nodes() {
        assert_eq!(node_of(&User::new("system:node:a", ["system:nodes"])), Some("a"));
        assert_eq!(node_of(&User::new("system:node:a", ["system:authenticated"])), None);
        assert_eq!(node_of(&User::new("ann", ["system:nodes"])), None);
    }

    #[test]
    fn a_pod_refers_through_volumes_environments_and_pull_secrets() {
        let pod = Object::from_value(json!({"spec": {
            "serviceAccountName": "robot",
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [
                {"secret": {"secretName": "s1"}}, {"configMap": {"name": "c1"}},
                {"projected": {"sources": [{"secret": {"name": "s2"}}, {"configMap": {"name": "c2"}}]}},
                {"persistentVolumeClaim": {"claimName": "p1"}}
            ],
            "containers": [{
                "envFrom": [{"configMapRef": {"name": "c3"}}],
                "env": [{"valueFrom": {"secretKeyRef": {"name": "s3", "key": "k"}}}]
            }]
        }}))
        .unwrap();
        let sorted = |references: References| {
            let mut names: Vec<_> = references.names(&pod).collect();
            names.sort_unstable();
            names.join(",")
        };
        assert_eq!(sorted(References::Secret), "pull,s1,s2,s3");
        assert_eq!(sorted(References::ConfigMap), "c1,c2,c3");
        assert_eq!(sorted(References::Claim), "p1");
        assert_eq!(sorted(References::Account), "robot");
    }

    #[test]
    fn the_role_of_nodes_is_found() {
        assert!(NodeAuthorizer::new().rules.len() > 10);
    }
}
