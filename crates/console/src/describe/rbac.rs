//! Roles, their bindings, and service accounts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::labels::metadata;
use super::{Description, Facts, events};
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::values::{list, name, namespace, show, text};

/// A rule with one resource or one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    paths: Vec<String>,
    verbs: Vec<String>,
}

fn joined(items: &[String]) -> String {
    format!("[{}]", items.join(" "))
}

impl Rule {
    /// The text by which rules are sorted: that of Go.
    fn key(&self) -> String {
        format!(
            "Verbs:{},APIGroups:{},Resources:{},ResourceNames:{},NonResourceURLs:{}",
            joined(&self.verbs),
            joined(&self.groups),
            joined(&self.resources),
            joined(&self.names),
            joined(&self.paths)
        )
    }

    /// `pods`, `deployments.apps/scale`.
    fn resource(&self) -> String {
        let Some(resource) = self.resources.first() else { return String::new() };
        let (resource, part) =
            resource.split_once('/').map_or((resource.as_str(), None), |(one, two)| (one, Some(two)));
        let group = self.groups.first().filter(|group| !group.is_empty()).map(|group| format!(".{group}"));
        let part = part.map(|part| format!("/{part}"));
        format!("{resource}{}{}", group.unwrap_or_default(), part.unwrap_or_default())
    }
}

/// The rules of a role, one for each resource. In Kubernetes: `rbac.BreakdownRule` and `rbac.CompactRules`.
fn rules(role: &Value) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut simple: BTreeMap<(String, String, String), Rule> = BTreeMap::new();
    for rule in list(role, "/rules") {
        let texts = |field: &str| list(rule, field).iter().map(show).collect::<Vec<_>>();
        let (verbs, names) = (texts("/verbs"), texts("/resourceNames"));
        for group in texts("/apiGroups") {
            for resource in texts("/resources") {
                let all = if names.is_empty() { vec![String::new()] } else { names.clone() };
                for name in all {
                    let key = (group.clone(), resource.clone(), name.clone());
                    let known = simple.entry(key).or_insert_with(|| Rule {
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        names: Some(name).filter(|name| !name.is_empty()).into_iter().collect(),
                        ..Rule::default()
                    });
                    known.verbs.extend(verbs.iter().cloned());
                }
            }
        }
        for path in texts("/nonResourceURLs") {
            rules.extend(verbs.iter().map(|verb| Rule {
                paths: vec![path.clone()],
                verbs: vec![verb.clone()],
                ..Rule::default()
            }));
        }
    }
    rules.extend(simple.into_values());
    rules.sort_by_cached_key(Rule::key);
    rules
}

pub(super) fn role(role: &Value) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(role));
    metadata(&mut out, role);
    out.line(0, "PolicyRule:");
    out.line(1, "Resources\tNon-Resource URLs\tResource Names\tVerbs");
    out.line(1, "---------\t-----------------\t--------------\t-----");
    for rule in rules(role) {
        let (paths, names, verbs) = (joined(&rule.paths), joined(&rule.names), joined(&rule.verbs));
        out.line(1, format!("{}\t{paths}\t{names}\t{verbs}", rule.resource()));
    }
    out
}

pub(super) fn binding(binding: &Value) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(binding));
    metadata(&mut out, binding);
    out.line(0, "Role:");
    out.field(1, "Kind", text(binding, "/roleRef/kind"));
    out.field(1, "Name", text(binding, "/roleRef/name"));
    out.line(0, "Subjects:");
    out.line(1, "Kind\tName\tNamespace");
    out.line(1, "----\t----\t---------");
    for subject in list(binding, "/subjects") {
        let part = |field: &str| text(subject, field);
        out.line(1, format!("{}\t{}\t{}", part("/kind"), part("/name"), part("/namespace")));
    }
    out
}

pub(super) async fn service_account(
    session: &mut CommandSession<'_>,
    account: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let kind = session.built_in("", "Secret").await?;
    let secrets = session.list(&kind, namespace(account), "", "").await.ok();
    let is_token = |secret: &&Value| {
        let annotation = |key: &str| secret["metadata"]["annotations"][key].as_str().unwrap_or_default();
        text(secret, "/type") == "kubernetes.io/service-account-token"
            && annotation("kubernetes.io/service-account.name") == name(account)
            && annotation("kubernetes.io/service-account.uid") == text(account, "/metadata/uid")
    };
    let tokens = secrets.iter().flatten().filter(is_token).map(|secret| name(secret).to_owned()).collect();
    let existing: Option<BTreeSet<&str>> = secrets.as_ref().map(|secrets| secrets.iter().map(name).collect());
    let names = |field: &str| list(account, field).iter().map(|secret| text(secret, "/name").to_owned()).collect();
    let mut out = Description::default();
    out.field(0, "Name", name(account));
    out.field(0, "Namespace", namespace(account));
    metadata(&mut out, account);
    let sections: [(&str, Vec<String>); 3] = [
        ("Image pull secrets:", names("/imagePullSecrets")),
        ("Mountable secrets: ", names("/secrets")),
        ("Tokens:            ", tokens),
    ];
    for (header, names) in sections {
        if names.is_empty() {
            out.line(0, format!("{header}\t<none>"));
        }
        for (index, name) in names.iter().enumerate() {
            let prefix = if index == 0 { header } else { "                   " };
            let is_missing = existing.as_ref().is_some_and(|existing| !existing.contains(name.as_str()));
            out.line(0, format!("{prefix}\t{name}{}", if is_missing { " (not found)" } else { "" }));
        }
    }
    events::describe(&mut out, facts);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_split_by_resource_and_sorted_as_by_go() {
        let role = json!({"rules": [
            {"apiGroups": ["", "apps"], "resources": ["pods", "deployments/scale"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]});
        let shown: Vec<String> =
            rules(&role).iter().map(|rule| format!("{} {}", rule.resource(), joined(&rule.verbs))).collect();
        assert_eq!(
            shown,
            ["pods [get list]", " [get]", "deployments/scale [get]", "deployments.apps/scale [get]", "pods.apps [get]"]
        );
    }
}
