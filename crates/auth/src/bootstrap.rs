use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object};
use coracle_release::Release;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::policy_blocks::policy_blocks;

/// The roles and bindings that all releases have; the head of the file describes its format.
const BASE: &str = include_str!("bootstrap_policy/base.txt");

/// What later releases change, in their order, with the behaviour that such a release has.
const CHANGES: [(&str, &str); 2] = [
    ("TaintEvictionRoles", include_str!("bootstrap_policy/taints.txt")),
    ("PodCertificateRoles", include_str!("bootstrap_policy/certificates.txt")),
];

const GROUP: &str = "rbac.authorization.k8s.io";

/// The default roles and bindings of a cluster of this release. Missing ones are created, existing ones are
/// [reconciled](crate::reconciled).
///
/// They include those of the controller-manager, the scheduler, and each controller. Nodes have no binding, because the
/// node authorizer decides about them.
/// In Kubernetes: `bootstrappolicy`.
pub fn bootstrap_policy(release: &Release) -> Arc<[Object]> {
    static KNOWN: Mutex<BTreeMap<usize, Arc<[Object]>>> = Mutex::new(BTreeMap::new());
    let files = files_of(release);
    let mut known = KNOWN.lock();
    let objects = known.entry(files.len()).or_insert_with(|| {
        let blocks = policy_blocks(&files);
        blocks.into_iter().map(|(first, details)| object(first, &details)).collect()
    });
    Arc::clone(objects)
}

/// One of the default cluster roles, by its name. The others are not made.
pub(crate) fn default_cluster_role(release: &Release, name: &str) -> Option<Object> {
    let is_it = |head: &str| head.strip_prefix("role ") == Some(name);
    let block = policy_blocks(&files_of(release)).into_iter().find(|(head, _)| is_it(head));
    block.map(|(head, details)| object(head, &details))
}

fn files_of(release: &Release) -> Vec<&'static str> {
    let changes = CHANGES.iter().take_while(|(behaviour, _)| release.has(behaviour)).map(|(_, file)| *file);
    std::iter::once(BASE).chain(changes).collect()
}

fn object(first: &str, details: &[&str]) -> Object {
    let mut object = head(first);
    for detail in details {
        add_detail(&mut object, detail);
    }
    object
}

/// `role NAME [in NAMESPACE]` or `bind ROLE [as NAME] [in NAMESPACE]`.
fn head(line: &str) -> Object {
    let mut words = line.split(' ');
    let (what, first) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let (mut name, mut namespace) = (first, None);
    while let Some(word) = words.next() {
        match word {
            "as" => name = words.next().unwrap_or(name),
            _ => namespace = words.next(),
        }
    }
    let kind = match (what, namespace) {
        ("role", None) => "ClusterRole",
        ("role", Some(_)) => "Role",
        (_, None) => "ClusterRoleBinding",
        (_, Some(_)) => "RoleBinding",
    };
    let mut object = Object::of_kind(&GroupVersionKind::new(GROUP, "v1", kind));
    object.set("metadata.name", name);
    if let Some(namespace) = namespace {
        object.set("metadata.namespace", namespace);
    }
    object.set(&["metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"], "true");
    object.set(&["metadata", "labels", "kubernetes.io/bootstrapping"], "rbac-defaults");
    if what == "role" {
        object.set("rules", Value::Null);
    } else {
        let role = if namespace.is_some() { "Role" } else { "ClusterRole" };
        object.set("roleRef", json!({"apiGroup": GROUP, "kind": role, "name": first}));
    }
    object
}

fn add_detail(object: &mut Object, detail: &str) {
    if let Some((key, value)) = detail.strip_prefix("label ").and_then(|label| label.split_once('=')) {
        object.set(&["metadata", "labels", key], value);
    } else if let Some((key, value)) = detail.strip_prefix("aggregate ").and_then(|label| label.split_once('=')) {
        let labels: Map<String, Value> = [(key.to_owned(), value.into())].into_iter().collect();
        object.set("aggregationRule", json!({"clusterRoleSelectors": [{"matchLabels": labels}]}));
    } else if detail.contains(" | ") {
        push(object, "rules", rule(detail));
    } else if let Some((kind, name)) = detail.split_once(' ') {
        push(object, "subjects", subject(kind, name));
    }
}

fn rule(line: &str) -> Value {
    let words = |part: &str| -> Vec<String> { part.split_whitespace().map(str::to_owned).collect() };
    match line.split(" | ").collect::<Vec<_>>().as_slice() {
        [verbs, "url", paths] => json!({"verbs": words(verbs), "nonResourceURLs": words(paths)}),
        [verbs, groups, resources, names @ ..] => {
            let groups: Vec<_> = groups.split(' ').map(|group| if group == "core" { "" } else { group }).collect();
            let mut rule = json!({"verbs": words(verbs), "apiGroups": groups, "resources": words(resources)});
            if let [names] = names {
                rule["resourceNames"] = words(names).into();
            }
            rule
        }
        _ => Value::Null,
    }
}

fn subject(kind: &str, name: &str) -> Value {
    match name.split_once('/') {
        Some((namespace, name)) => json!({"kind": kind, "namespace": namespace, "name": name}),
        None => json!({"apiGroup": GROUP, "kind": kind, "name": name}),
    }
}

fn push(object: &mut Object, list: &str, item: Value) {
    object.edit(|tree| {
        let slot = tree.entry(list).or_insert(Value::Null);
        if slot.is_null() {
            *slot = Value::Array(Vec::new());
        }
        if let Some(items) = slot.as_array_mut() {
            items.push(item);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use coracle_meta::{GroupVersionResource, ResourcePath};
    use coracle_registry::{Target, User};

    fn policy() -> Policy {
        let mut policy = Policy::default();
        for object in bootstrap_policy(&Release::newest()).iter() {
            policy.put(object);
        }
        policy
    }

    fn may(user: &User, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
        let at = ResourcePath::new(GroupVersionResource::new(group, "v1", resource)).object(namespace, "");
        policy().allows(user, verb, &Target::Resource(at.into())).is_ok()
    }

    #[test]
    fn every_line_of_the_table_is_understood() {
        let objects = bootstrap_policy(&Release::newest());
        assert!(objects.len() > 100, "{}", objects.len());
        for object in objects.iter() {
            let rules = object.field("rules").and_then(Value::as_array);
            for rule in rules.into_iter().flatten() {
                assert!(rule.is_object(), "{}", object.name());
            }
            let subjects = object.field("subjects").and_then(Value::as_array);
            for subject in subjects.into_iter().flatten() {
                let kind = subject["kind"].as_str().unwrap();
                assert!(["User", "Group", "ServiceAccount"].contains(&kind), "{kind}");
            }
        }
    }

    #[test]
    fn one_role_is_made_as_it_is_among_all() {
        for release in Release::all() {
            let all = bootstrap_policy(&release);
            for role in all.iter().filter(|object| object.kind() == "ClusterRole") {
                assert_eq!(default_cluster_role(&release, role.name()).as_ref(), Some(role), "{}", role.name());
            }
            assert_eq!(default_cluster_role(&release, "none"), None);
        }
    }

    #[test]
    fn the_components_have_the_permissions_that_they_need() {
        let authenticated = "system:authenticated";
        let scheduler = User::new("system:kube-scheduler", [authenticated]);
        assert!(scheduler_may_bind(&scheduler));
        assert!(may(&scheduler, "watch", "", "nodes", ""));
        assert!(!may(&scheduler, "delete", "", "nodes", ""));
        let manager = User::new("system:kube-controller-manager", [authenticated]);
        assert!(may(&manager, "list", "apps", "deployments", ""));
        let replicaset = User::new("system:serviceaccount:kube-system:replicaset-controller", [authenticated]);
        assert!(may(&replicaset, "create", "", "pods", "default"));
        let master = User::new("admin", ["system:masters"]);
        assert!(may(&master, "impersonate", "", "users", ""));
        assert!(!may(&User::new("ann", [authenticated]), "get", "", "pods", "default"));
    }

    fn scheduler_may_bind(scheduler: &User) -> bool {
        let pods = ResourcePath::new(GroupVersionResource::new("", "v1", "pods"));
        let at = pods.object("default", "").subresource("binding");
        policy().allows(scheduler, "create", &Target::Resource(at.into())).is_ok()
    }

    #[test]
    fn health_is_public_and_discovery_needs_authentication() {
        let anonymous = User::new("system:anonymous", ["system:unauthenticated"]);
        let known = User::new("ann", ["system:authenticated"]);
        assert!(policy().allows(&anonymous, "get", &Target::Path("/healthz".into())).is_ok());
        assert!(policy().allows(&anonymous, "get", &Target::Path("/apis".into())).is_err());
        assert!(policy().allows(&known, "get", &Target::Path("/apis".into())).is_ok());
    }

    #[test]
    fn a_release_adds_and_takes_away_permissions() {
        let releases: Vec<Release> = Release::all().collect();
        let rules = |release: usize, name: &str| -> Vec<Value> {
            let objects = bootstrap_policy(&releases[release]);
            let role = objects.iter().find(|object| object.kind() == "ClusterRole" && object.name() == name);
            role.and_then(|role| role.field("rules")).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let taints = "system:controller:device-taint-eviction-controller";
        assert_eq!([0, 1, 2].map(|release| rules(release, taints).len()), [0, 6, 8]);
        let expand = "system:controller:expand-controller";
        assert_eq!([0, 1].map(|release| rules(release, expand).len()), [5, 4]);
        let paths = |release| rules(release, "system:monitoring")[0]["nonResourceURLs"].to_string();
        assert!(!paths(0).contains("/statusz") && paths(1).contains("/statusz"));
        let node = rules(2, "system:node");
        let at = |resource: &str| node.iter().position(|rule| rule["resources"][0] == resource);
        assert!(
            at("clustertrustbundles") < at("serviceaccounts") && at("serviceaccounts") < at("podcertificaterequests")
        );
    }
}
