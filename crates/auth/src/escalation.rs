use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Admission, Attributes, Decision, Operation, Review, Rules, Target};

use crate::policy::rules_in;
use crate::{Rbac, RoleRef, Rule};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Lets nobody grant what he does not have himself, through a role or a binding.
///
/// Whoever may `escalate` roles, or `bind` the role in question, is free, and so are the members of `system:masters`.
/// In Kubernetes: the policy-based storage of RBAC (`pkg/registry/rbac/*/policybased`).
#[derive(Debug, Default)]
pub struct EscalationCheck {
    rbac: Rbac,
}

#[async_trait]
impl Admission for EscalationCheck {
    fn name(&self) -> &'static str {
        "RBACEscalation"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let resource = &review.request.at.resource;
        let Some(object) = review.object().filter(|_| resource.group == GROUP) else { return Ok(()) };
        if review.request.user.is_in("system:masters") {
            return Ok(());
        }
        let granted = match resource.resource.as_str() {
            "roles" | "clusterroles" => {
                let unchanged = review.old.is_some_and(|old| rules_in(old) == rules_in(object));
                if unchanged || may(review, "escalate", &resource.resource, object.name()).await? {
                    return Ok(());
                }
                rules_in(object)
            }
            "rolebindings" | "clusterrolebindings" => {
                let role = RoleRef::of(object);
                let unchanged = review
                    .old
                    .is_some_and(|old| RoleRef::of(old) == role && old.field("subjects") == object.field("subjects"));
                let (plural, name) = match &role {
                    RoleRef::ClusterRole(name) => ("clusterroles", name.as_str()),
                    RoleRef::Role(name) => ("roles", name.as_str()),
                    RoleRef::Unknown { .. } => return Ok(()),
                };
                if unchanged || may(review, "bind", plural, name).await? {
                    return Ok(());
                }
                self.rbac.policy(review.registry).await?.rules_of(&role, object.namespace()).to_vec()
            }
            _ => return Ok(()),
        };
        let held = review.registry.rules(&review.request.user, &review.request.at.namespace).await?;
        let missing = missing(&granted, &rules_of(&held));
        if missing.is_empty() { Ok(()) } else { Err(refused(review, object, &missing)) }
    }
}

async fn may(review: &Review<'_>, verb: &str, plural: &str, name: &str) -> Result<bool, Status> {
    let at = &review.request.at;
    let resource = GroupVersionResource::new(GROUP, at.resource.version.as_str(), plural);
    let at = ResourcePath::new(resource).object(at.namespace.as_str(), name);
    let attributes = Attributes::of_resource(&review.request.user, verb, at);
    Ok(matches!(review.registry.authorize(&attributes).await?, Decision::Allow(_)))
}

fn refused(review: &Review<'_>, object: &Object, missing: &[String]) -> Status {
    let user = &review.request.user;
    let groups: Vec<String> = user.groups.iter().map(|group| format!("{group:?}")).collect();
    let why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        missing.join("\n")
    );
    Status::forbidden(&review.request.group_resource(), object.name(), &why)
}

fn rules_of(held: &Rules) -> Vec<Rule> {
    let resources = held.resources.iter().map(|rule| Rule {
        verbs: rule.verbs.clone(),
        api_groups: rule.api_groups.clone(),
        resources: rule.resources.clone(),
        resource_names: rule.resource_names.clone(),
        ..Rule::default()
    });
    let paths = held.paths.iter().map(|rule| Rule {
        verbs: rule.verbs.clone(),
        non_resource_urls: rule.paths.clone(),
        ..Rule::default()
    });
    resources.chain(paths).collect()
}

/// What of `granted` no rule of `held` covers, as messages print it. In Kubernetes: `validation.Covers`.
fn missing(granted: &[Rule], held: &[Rule]) -> Vec<String> {
    let mut told = Vec::new();
    for rule in granted {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let names: Vec<Option<&String>> = match rule.resource_names.as_slice() {
                    [] => vec![None],
                    names => names.iter().map(Some).collect(),
                };
                for name in names {
                    let covered = |verb: &&String| held.iter().any(|own| covers(own, verb, group, resource, name));
                    let verbs: Vec<&String> = rule.verbs.iter().filter(|verb| !covered(verb)).collect();
                    if !verbs.is_empty() {
                        let names = name.map(|name| format!(", ResourceNames:[{name:?}]")).unwrap_or_default();
                        let verbs = quoted(&verbs);
                        told.push(format!(
                            "{{APIGroups:[{group:?}], Resources:[{resource:?}]{names}, Verbs:[{verbs}]}}"
                        ));
                    }
                }
            }
        }
        for path in &rule.non_resource_urls {
            let target = Target::Path(path.clone());
            let covered = |verb: &&String| held.iter().any(|own| own.allows(verb, &target));
            let verbs: Vec<&String> = rule.verbs.iter().filter(|verb| !covered(verb)).collect();
            if !verbs.is_empty() {
                told.push(format!("{{NonResourceURLs:[{path:?}], Verbs:[{}]}}", quoted(&verbs)));
            }
        }
    }
    told
}

fn quoted(words: &[&String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// Whether one rule gives at least one verb on one resource of one group, to one name or to all.
fn covers(own: &Rule, verb: &str, group: &str, resource: &str, name: Option<&String>) -> bool {
    let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let at = ResourcePath::new(GroupVersionResource::new(group, "", plural)).subresource(subresource);
    own.allows(verb, &Target::Resource(Arc::new(at.object("", name.map_or("", String::as_str)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(verbs: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        Rule::from_json(&json!({"verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names}))
    }

    #[test]
    fn what_is_held_may_be_granted_and_the_rest_is_told() {
        let held = [rule(&["get", "list"], &["pods", "pods/log"], &[])];
        assert!(missing(&[rule(&["get"], &["pods"], &["web"])], &held).is_empty());
        assert_eq!(
            missing(&[rule(&["get", "delete"], &["pods", "secrets"], &[])], &held),
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get", "delete"]}"#
            ]
        );
    }

    #[test]
    fn a_name_does_not_cover_all_names_and_some_verbs_do_not_cover_all() {
        let held = [rule(&["get"], &["pods"], &["web"])];
        assert_eq!(missing(&[rule(&["get"], &["pods"], &[])], &held).len(), 1);
        assert_eq!(missing(&[rule(&["*"], &["pods"], &["web"])], &held).len(), 1);
        let everything = [Rule::from_json(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}))];
        assert!(missing(&[rule(&["*"], &["*"], &[])], &everything).is_empty());
    }
}
