//! `create role`, `clusterrole`, `rolebinding` and `clusterrolebinding`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, make, metadata, name_argument};
use crate::session::{CommandSession, complain};
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The verbs of resources. Others are permitted, with a warning.
pub(super) const RESOURCE_VERBS: &[&str] = &[
    "*",
    "get",
    "delete",
    "list",
    "create",
    "update",
    "patch",
    "watch",
    "proxy",
    "deletecollection",
    "use",
    "bind",
    "impersonate",
    "approve",
    "sign",
    "escalate",
    "attest",
];

const ROLE_FLAGS: &[Flag] = &[
    Flag::list("verb", "Verbs that the rule permits"),
    Flag::list("resource", "Resources, as RESOURCE.GROUP/SUBRESOURCE"),
    Flag::texts("resource-name", "Names of objects"),
];
const CLUSTER_ROLE_FLAGS: &[Flag] = &[Flag::list("non-resource-url", "Paths of the server")];
const SUBJECTS: &[Flag] = &[
    Flag::text("clusterrole", "The ClusterRole to bind"),
    Flag::texts("user", "Users"),
    Flag::texts("group", "Groups"),
    Flag::texts("serviceaccount", "Service accounts, as NAMESPACE:NAME"),
];
const ROLE_BINDING_FLAGS: &[Flag] = &[Flag::text("role", "The Role to bind")];

pub(super) const ROLE: Verb = Verb {
    words: &["create", "role"],
    aliases: &[],
    flags: &[ROLE_FLAGS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a role with single rule",
    run: |session| Box::pin(role(session, "Role")),
};

pub(super) const CLUSTER_ROLE: Verb = Verb {
    words: &["create", "clusterrole"],
    aliases: &[],
    flags: &[ROLE_FLAGS, CLUSTER_ROLE_FLAGS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a cluster role",
    run: |session| Box::pin(role(session, "ClusterRole")),
};

pub(super) const ROLE_BINDING: Verb = Verb {
    words: &["create", "rolebinding"],
    aliases: &[],
    flags: &[ROLE_BINDING_FLAGS, SUBJECTS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a role binding for a particular role or cluster role",
    run: |session| Box::pin(binding(session, "RoleBinding")),
};

pub(super) const CLUSTER_ROLE_BINDING: Verb = Verb {
    words: &["create", "clusterrolebinding"],
    aliases: &[],
    flags: &[SUBJECTS, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &["clusterrole"],
    about: "Create a cluster role binding for a particular cluster role",
    run: |session| Box::pin(binding(session, "ClusterRoleBinding")),
};

fn unique(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        if !out.contains(word) {
            out.push(word.clone());
        }
    }
    out
}

async fn role(session: &mut CommandSession<'_>, kind: &'static str) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let verbs = match unique(session.flags.texts("verb")) {
        verbs if verbs.iter().any(|verb| verb == "*") => vec!["*".to_owned()],
        verbs => verbs,
    };
    if verbs.is_empty() {
        return Err(Failure::text("at least one verb must be specified"));
    }
    for verb in verbs.iter().filter(|verb| !RESOURCE_VERBS.contains(&verb.as_str())) {
        complain!(session, "Warning: '{verb}' is not a standard resource verb");
    }
    let (resources, paths) =
        (session.flags.texts("resource").to_vec(), session.flags.texts("non-resource-url").to_vec());
    if resources.is_empty() && paths.is_empty() {
        return Err(Failure::text(match kind {
            "Role" => "at least one resource must be specified",
            _ => "at least one resource or nonResourceURL must be specified",
        }));
    }
    let names = unique(session.flags.texts("resource-name"));
    let mut rules = rules(session, &verbs, &resources, &names).await?;
    if !paths.is_empty() {
        rules.push(json!({"nonResourceURLs": paths, "verbs": verbs}));
    }
    let own = own_metadata(session, kind, &name);
    let object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": own, "rules": rules});
    make(session, object, Making::new(GROUP, kind)).await
}

fn own_metadata(session: &CommandSession<'_>, kind: &str, name: &str) -> Value {
    if kind.starts_with("Cluster") { json!({"creationTimestamp": null, "name": name}) } else { metadata(session, name) }
}

/// One rule for each group of the resources.
async fn rules(
    session: &mut CommandSession<'_>,
    verbs: &[String],
    resources: &[String],
    names: &[String],
) -> Result<Vec<Value>, Failure> {
    let kinds = session.kinds().await?;
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for resource in resources {
        let (word, part) = resource.split_once('/').map_or((resource.as_str(), ""), |(word, part)| (word, part));
        let (plural, group) = word.split_once('.').unwrap_or((word, ""));
        if plural.is_empty() {
            return Err(Failure::text("resource must be specified if apiGroup/subresource specified"));
        }
        let (plural, group) = match plural {
            "*" => (plural.to_owned(), group.to_owned()),
            _ => {
                let found = kinds.of_word(word).map_err(|failure| {
                    let text = failure.bare();
                    match group {
                        "" => Failure::Verbatim(text),
                        group => Failure::Verbatim(format!("{text} in group {}", coracle_meta::go_quote(group))),
                    }
                })?;
                (found.plural.clone(), found.group.clone())
            }
        };
        let resource = if part.is_empty() { plural } else { format!("{plural}/{part}") };
        let known = groups.entry(group).or_default();
        if !known.contains(&resource) {
            known.push(resource);
        }
    }
    let rule = |(group, resources): (String, Vec<String>)| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    Ok(groups.into_iter().map(rule).collect())
}

async fn binding(session: &mut CommandSession<'_>, kind: &'static str) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let (role, cluster_role) = (session.flags.text("role").to_owned(), session.flags.text("clusterrole").to_owned());
    if role.is_empty() == cluster_role.is_empty() {
        return Err(Failure::text("exactly one of clusterrole or role must be specified"));
    }
    let (role_kind, role) = if role.is_empty() { ("ClusterRole", cluster_role) } else { ("Role", role) };
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        let named = session.flags.texts(flag).iter();
        subjects.extend(named.map(|name| json!({"apiGroup": GROUP, "kind": kind, "name": name})));
    }
    for account in session.flags.texts("serviceaccount") {
        match account.split(':').collect::<Vec<_>>().as_slice() {
            [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                subjects.push(json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}));
            }
            _ => return Err(Failure::text("serviceaccount must be <namespace>:<name>")),
        }
    }
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": own_metadata(session, kind, &name),
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
    });
    if !subjects.is_empty() {
        object["subjects"] = subjects.into();
    }
    let failed = format!("failed to create {}: ", kind.to_lowercase());
    make(session, object, Making::new(GROUP, kind).or(&failed)).await
}
