use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::permission::Permission;

/// The API of roles.
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The verbs in the order in which roles list them.
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The smallest ClusterRole and Roles that permit all this.
///
/// The namespaces of samples stand for any namespace if the controller reads all of them: then what it needs there is in the
/// ClusterRole. `namespaced` are the resources whose objects have a namespace.
pub(super) fn smallest_roles(
    name: &str,
    used: &BTreeSet<Permission>,
    samples: &BTreeSet<String>,
    namespaced: &BTreeSet<String>,
) -> Vec<Value> {
    let plural = |permission: &Permission| permission.resource.split('/').next().unwrap_or_default().to_owned();
    let is_of_all = |permission: &Permission| permission.namespace.is_empty();
    let reads_all = used.iter().any(|permission| is_of_all(permission) && namespaced.contains(&plural(permission)));
    let mut roles: BTreeMap<&str, BTreeSet<&Permission>> = BTreeMap::new();
    for permission in used {
        let is_everywhere = is_of_all(permission) || reads_all && samples.contains(&permission.namespace);
        roles.entry(if is_everywhere { "" } else { &permission.namespace }).or_default().insert(permission);
    }
    let everywhere: BTreeSet<_> = roles.get("").into_iter().flatten().map(|permission| key(permission)).collect();
    let mut documents = Vec::new();
    for (namespace, mut permissions) in roles {
        if !namespace.is_empty() {
            permissions.retain(|permission| !everywhere.contains(&key(permission)));
        }
        if permissions.is_empty() {
            continue;
        }
        let (kind, metadata) = match namespace {
            "" => ("ClusterRole", json!({"name": name})),
            namespace => ("Role", json!({"name": name, "namespace": namespace})),
        };
        documents.push(json!({
            "apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "rules": rules(&permissions),
        }));
    }
    documents
}

fn key(permission: &Permission) -> (&str, &str, &str) {
    (&permission.group, &permission.resource, &permission.verb)
}

/// Rules, each with the resources of a group that have the same verbs.
fn rules(permissions: &BTreeSet<&Permission>) -> Vec<Value> {
    let mut verbs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for permission in permissions {
        verbs.entry((&permission.group, &permission.resource)).or_default().insert(&permission.verb);
    }
    let mut rules: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        rules.entry((group, in_order(&verbs))).or_default().push(resource);
    }
    let rule = |((group, verbs), resources)| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    rules.into_iter().map(rule).collect()
}

fn in_order<'v>(verbs: &BTreeSet<&'v str>) -> Vec<&'v str> {
    let place = |verb: &str| VERBS.iter().position(|known| *known == verb).unwrap_or(VERBS.len());
    let mut verbs: Vec<&str> = verbs.iter().copied().collect();
    verbs.sort_by_key(|verb| (place(verb), *verb));
    verbs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(permissions: &[[&str; 4]]) -> BTreeSet<Permission> {
        let of = |[group, resource, verb, namespace]: &[&str; 4]| Permission {
            group: (*group).to_owned(),
            resource: (*resource).to_owned(),
            verb: (*verb).to_owned(),
            namespace: (*namespace).to_owned(),
        };
        permissions.iter().map(of).collect()
    }

    fn roles(permissions: &[[&str; 4]]) -> Vec<Value> {
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        smallest_roles("m", &used(permissions), &texts(&["default"]), &texts(&["foos", "configmaps", "leases"]))
    }

    #[test]
    fn a_controller_of_all_namespaces_needs_a_cluster_role_and_its_lease_a_role() {
        let roles = roles(&[
            ["example.com", "foos", "list", ""],
            ["example.com", "foos", "watch", ""],
            ["", "configmaps", "create", "default"],
            ["", "secrets", "create", "default"],
            ["coordination.k8s.io", "leases", "update", "system"],
        ]);
        assert_eq!(roles.len(), 2, "{roles:?}");
        let rules = json!([
            {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["create"]},
            {"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["list", "watch"]},
        ]);
        assert_eq!((&roles[0]["kind"], &roles[0]["rules"]), (&json!("ClusterRole"), &rules));
        assert_eq!((&roles[1]["kind"], &roles[1]["metadata"]["namespace"]), (&json!("Role"), &json!("system")));
    }

    #[test]
    fn a_controller_of_one_namespace_needs_a_role_there_and_no_cluster_role() {
        let roles = roles(&[["", "configmaps", "list", "default"]]);
        assert_eq!((roles.len(), &roles[0]["kind"]), (1, &json!("Role")));
    }
}
