use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Admission, Attributes, Decision, Operation, Review, Target};
use serde_json::{Map, Value};

use crate::aggregate::aggregate;
use crate::rule::rules_in;
use crate::{Policy, Rbac, RoleRef, Rule};

const GROUP: &str = "rbac.authorization.k8s.io";
/// The maximum number of comparisons of a verb on a resource with a rule in one request.
const MOST_COMPARISONS: usize = 2_000_000;

/// Refuses roles and bindings that grant permissions that their author does not have.
///
/// Members of `system:masters` are exempt, and so are users that may `escalate` the role or `bind` the role of the
/// binding. Every write is checked, except those that change only what the garbage collector needs: a label can add a
/// role to an aggregated role without a change of its rules. The check runs in the mutating phase, after all plug-ins:
/// there the object is still as the client sent it, which is what Kubernetes compares.
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

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let review = &*review;
        let Some(object) = review.object().filter(|_| review.request.at.resource.group == GROUP) else {
            return Ok(());
        };
        if review.request.user.is_in("system:masters") {
            return Ok(());
        }
        match review.request.at.resource.resource.as_str() {
            "roles" | "clusterroles" => self.check_role(review, object).await,
            "rolebindings" | "clusterrolebindings" => self.check_binding(review, object).await,
            _ => Ok(()),
        }
    }
}

impl EscalationCheck {
    async fn check_role(&self, review: &Review<'_>, role: &Object) -> Result<(), Status> {
        let at = &review.request.at;
        // The name is that of the path, so it is empty for a create by POST.
        if may(review, "escalate", &at.resource.resource, &at.name).await? || changes_only_gc_fields(review, role) {
            return Ok(());
        }
        let policy = self.rbac.policy(review.registry).await?;
        confirm(review, role, &rules_in(role), &policy)?;
        let aggregates = |role: &Object| !role.list("aggregationRule.clusterRoleSelectors").is_empty();
        let uses = aggregates(role) || review.old.is_some_and(aggregates);
        if uses && !missing(&everything(), &held(review, &policy))?.is_empty() {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Status::forbidden(&review.request.group_resource(), role.name(), why));
        }
        Ok(())
    }

    async fn check_binding(&self, review: &Review<'_>, binding: &Object) -> Result<(), Status> {
        if changes_only_gc_fields(review, binding) {
            return Ok(());
        }
        let role = RoleRef::of(binding);
        let (plural, name) = match &role {
            RoleRef::ClusterRole(name) => ("clusterroles", name.as_str()),
            RoleRef::Role(name) => ("roles", name.as_str()),
            RoleRef::Unknown { kind, .. } => {
                return Err(Status::internal(format!("unsupported role reference kind: {kind:?}")));
            }
        };
        if may(review, "bind", plural, name).await? {
            return Ok(());
        }
        let policy = self.rbac.policy(review.registry).await?;
        let namespace = &review.request.at.namespace;
        let Some(granted) = policy.rules_of(&role, namespace) else {
            // In Kubernetes, too, the error names the resource of the request.
            return Err(Status::not_found(&review.request.group_resource(), name));
        };
        confirm(review, binding, granted, &policy)
    }
}

/// The rules of the requesting user in the namespace of the object. In Kubernetes: `RulesFor`.
fn held(review: &Review<'_>, policy: &Policy) -> Vec<Rule> {
    policy.rules(&review.request.user, &review.request.at.namespace)
}

/// The rules that a user needs to create an aggregated role. In Kubernetes: `fullAuthority`.
fn everything() -> [Rule; 2] {
    let star = || vec!["*".to_owned()];
    [
        Rule { verbs: star(), api_groups: star(), resources: star(), ..Rule::default() },
        Rule { verbs: star(), non_resource_urls: star(), ..Rule::default() },
    ]
}

/// Whether an update changes only what the garbage collector needs to delete the object.
/// In Kubernetes: `IsOnlyMutatingGCFields`.
fn changes_only_gc_fields(review: &Review<'_>, new: &Object) -> bool {
    let compared = |object: &Object| {
        let mut value = object.to_value();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
        }
        drop_empty(&mut value);
        value
    };
    review.old.is_some_and(|old| compared(old) == compared(new))
}

/// Drops empty lists and maps, which equal missing ones. In Kubernetes: `equality.Semantic.DeepEqual`.
fn drop_empty(value: &mut Value) {
    const MAPS: [&str; 3] = ["annotations", "labels", "matchLabels"];
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            drop_empty(value);
            let is_empty_map = MAPS.contains(&name.as_str()) && value.as_object().is_some_and(Map::is_empty);
            !is_empty_map && !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
        }),
        Value::Array(list) => list.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

async fn may(review: &Review<'_>, verb: &str, plural: &str, name: &str) -> Result<bool, Status> {
    let at = &review.request.at;
    let resource = GroupVersionResource::new(GROUP, at.resource.version.as_str(), plural);
    let at = ResourcePath::new(resource).object(at.namespace.as_str(), name);
    let attributes = Attributes::of_resource(&review.request.user, verb, at);
    Ok(matches!(review.registry.authorize(&attributes).await?, Decision::Allow(_)))
}

/// Refuses `granted` rules that the requesting user does not have. In Kubernetes: `ConfirmNoEscalation`.
fn confirm(review: &Review<'_>, object: &Object, granted: &[Rule], policy: &Policy) -> Result<(), Status> {
    let missing = missing(granted, &held(review, policy))?;
    if missing.is_empty() {
        return Ok(());
    }
    let user = &review.request.user;
    let groups: Vec<&String> = user.groups.iter().collect();
    let mut why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        quoted(&groups),
        missing.into_iter().collect::<Vec<_>>().join("\n")
    );
    let resource = review.request.group_resource();
    let absent = policy.missing_roles(user, &review.request.at.namespace);
    if !absent.is_empty() {
        let errors: Vec<String> = absent.iter().map(|name| Status::not_found(&resource, name).message).collect();
        why = format!("{why}; resolution errors: [{}]", aggregate(&errors));
    }
    Err(Status::forbidden(&resource, object.name(), &why))
}

/// The parts of `granted` that no rule of `held` covers, as messages print them: the verbs of one resource together,
/// and each verb of a path separately. In Kubernetes: `validation.Covers`, `CompactRules` and `CompactString`.
///
/// # Errors
/// 403 if there is too much to compare. Unlike Kubernetes, which has no limit.
fn missing(granted: &[Rule], held: &[Rule]) -> Result<BTreeSet<String>, Status> {
    let all = AllOf::held(held);
    let asked: Vec<&Rule> = granted.iter().filter(|rule| !all.covers(rule)).collect();
    let comparisons = asked.iter().map(|rule| combinations(rule)).fold(0_usize, usize::saturating_add);
    if comparisons.saturating_mul(held.len().max(1)) > MOST_COMPARISONS {
        let why = "the rules name more combinations of verbs, groups, resources, names and paths than are compared with \
            what the user holds";
        return Err(Status::forbidden(&GroupResource::default(), "", why));
    }
    let mut of_resources: BTreeMap<(&str, &str, Option<&str>), Vec<&String>> = BTreeMap::new();
    let mut listed = BTreeSet::new();
    for rule in asked {
        for (group, resource, name) in targets(rule) {
            let target = target(group, resource, name.unwrap_or_default());
            let verbs = rule.verbs.iter().filter(|verb| !held.iter().any(|own| own.allows(verb, &target)));
            let mut verbs = verbs.peekable();
            if verbs.peek().is_some() {
                of_resources.entry((group, resource, name)).or_default().extend(verbs);
            }
        }
        for path in &rule.non_resource_urls {
            let target = Target::Path(path.clone());
            let verbs = rule.verbs.iter().filter(|verb| !held.iter().any(|own| own.allows(verb, &target)));
            listed.extend(verbs.map(|verb| format!("{{NonResourceURLs:[{path:?}], Verbs:[{verb:?}]}}")));
        }
    }
    listed.extend(of_resources.into_iter().map(|((group, resource, name), verbs)| {
        let name = name.map(|name| format!(", ResourceNames:[{name:?}]")).unwrap_or_default();
        format!("{{APIGroups:[{group:?}], Resources:[{resource:?}]{name}, Verbs:[{}]}}", quoted(&verbs))
    }));
    Ok(listed)
}

/// The number of combinations of verbs with resources, names and paths in a rule.
fn combinations(rule: &Rule) -> usize {
    let lists = [&rule.verbs, &rule.api_groups, &rule.resources];
    let of_resources = lists.into_iter().map(Vec::len).fold(rule.resource_names.len().max(1), usize::saturating_mul);
    of_resources.saturating_add(rule.verbs.len().saturating_mul(rule.non_resource_urls.len()))
}

/// What single rules cover by wildcards alone: the fast path for the rules of administrators.
#[derive(Default)]
struct AllOf {
    nothing: bool,
    resources: bool,
    paths: bool,
    both: bool,
}

impl AllOf {
    fn held(rules: &[Rule]) -> Self {
        let has_star = |list: &[String]| list.iter().any(|word| word == "*");
        let mut all = Self::default();
        for rule in rules.iter().filter(|rule| has_star(&rule.verbs)) {
            let resources = has_star(&rule.api_groups) && has_star(&rule.resources) && rule.resource_names.is_empty();
            let paths = has_star(&rule.non_resource_urls);
            all.nothing = true;
            all.resources |= resources;
            all.paths |= paths;
            all.both |= resources && paths;
        }
        all
    }

    fn covers(&self, granted: &Rule) -> bool {
        match (granted.resources.is_empty(), granted.non_resource_urls.is_empty()) {
            (true, true) => self.nothing,
            (false, true) => self.resources,
            (true, false) => self.paths,
            (false, false) => self.both,
        }
    }
}

/// The groups, resources and names that a rule combines.
fn targets(rule: &Rule) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
    rule.api_groups.iter().flat_map(move |group| {
        rule.resources.iter().flat_map(move |resource| {
            let unnamed = rule.resource_names.is_empty().then_some(None);
            let names = unnamed.into_iter().chain(rule.resource_names.iter().map(|name| Some(name.as_str())));
            names.map(move |name| (group.as_str(), resource.as_str(), name))
        })
    })
}

/// A resource of a rule as a target of a request; an empty name means no specific name.
fn target(group: &str, resource: &str, name: &str) -> Target {
    let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let at = ResourcePath::new(GroupVersionResource::new(group, "", plural)).subresource(subresource);
    Target::Resource(Arc::new(at.object("", name)))
}

/// In Kubernetes: the verb `%q` of a list.
fn quoted(words: &[&String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(verbs: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        Rule::from_json(&json!({"verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names}))
    }

    fn paths(verbs: &[&str], paths: &[&str]) -> Rule {
        Rule::from_json(&json!({"verbs": verbs, "nonResourceURLs": paths}))
    }

    fn listed(granted: &[Rule], held: &[Rule]) -> Vec<String> {
        missing(granted, held).unwrap().into_iter().collect()
    }

    #[test]
    fn held_permissions_can_be_granted_and_missing_ones_are_listed_like_kubernetes() {
        let held = [rule(&["get", "list"], &["pods", "pods/log"], &[])];
        assert!(listed(&[rule(&["get"], &["pods"], &["web"])], &held).is_empty());
        let granted = [
            rule(&["get", "delete"], &["secrets", "pods"], &[]),
            rule(&["patch"], &["pods"], &[]),
            paths(&["get", "post"], &["/metrics"]),
        ];
        assert_eq!(
            listed(&granted, &held),
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete" "patch"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["post"]}"#,
            ]
        );
    }

    #[test]
    fn a_name_does_not_cover_all_names_and_some_verbs_do_not_cover_all() {
        let held = [rule(&["get"], &["pods"], &["web"])];
        assert_eq!(listed(&[rule(&["get"], &["pods"], &[])], &held).len(), 1);
        assert_eq!(listed(&[rule(&["*"], &["pods"], &["web"])], &held).len(), 1);
        let all = [Rule::from_json(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}))];
        assert!(listed(&[rule(&["*"], &["*"], &[])], &all).is_empty());
    }

    #[test]
    fn an_empty_list_or_map_is_as_good_as_none_and_an_empty_struct_is_not() {
        let dropped = |mut value: Value| {
            drop_empty(&mut value);
            value
        };
        let empty = json!({"rules": [], "metadata": {"labels": {}, "annotations": null}, "aggregationRule": {}});
        assert_eq!(dropped(empty), json!({"metadata": {}, "aggregationRule": {}}));
        let full = json!({"rules": [{"verbs": ["get"]}], "metadata": {"labels": {"a": ""}}});
        assert_eq!(dropped(full.clone()), full);
    }

    #[test]
    fn full_authority_is_all_resources_and_all_paths() {
        let [resources, urls] = everything();
        assert_eq!(listed(&everything(), std::slice::from_ref(&resources)).len(), 1);
        assert_eq!(listed(&everything(), std::slice::from_ref(&urls)).len(), 1);
        assert!(listed(&everything(), &[resources, urls]).is_empty());
    }

    #[test]
    fn rules_of_more_combinations_than_are_compared_are_refused_unless_stars_cover_them() {
        let words: Vec<String> = (0..2000).map(|number| format!("word{number}")).collect();
        let many = Rule {
            verbs: words.clone(),
            api_groups: words.clone(),
            resources: words.clone(),
            resource_names: words,
            ..Rule::default()
        };
        let held = [rule(&["get"], &["pods"], &[])];
        assert_eq!(missing(std::slice::from_ref(&many), &held).unwrap_err().code, 403);
        assert!(listed(&[many], &everything()).is_empty());
    }
}
