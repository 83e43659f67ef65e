use std::collections::BTreeSet;
use std::fmt;

use coracle_yaml::to_yaml;

use super::observed_permissions::ObservedPermissions;
use super::permission::{Permission, qualified};
use super::roles::{Grant, Roles};
use super::smallest_roles::smallest_roles;

/// What a controller was permitted to do, and what it did.
#[derive(Clone, Debug, Default)]
pub struct RbacReport {
    /// The name of the controller.
    name: String,
    /// What its requests needed.
    used: BTreeSet<Permission>,
    /// What was refused.
    refused: BTreeSet<Permission>,
    /// The roles of its manifests.
    roles: Roles,
    /// The namespaces of the samples.
    samples: BTreeSet<String>,
    /// The resources whose objects have a namespace.
    namespaced: BTreeSet<String>,
}

impl RbacReport {
    /// What was observed of the requests of a controller. `samples` are the namespaces of the samples, and `namespaced` the
    /// resources whose objects have a namespace.
    pub(crate) fn of(
        name: &str,
        observed: &ObservedPermissions,
        roles: Roles,
        samples: BTreeSet<String>,
        namespaced: BTreeSet<String>,
    ) -> Self {
        Self { name: name.to_owned(), used: observed.used(), refused: observed.refused(), roles, samples, namespaced }
    }

    /// What the roles of its manifests do not permit although it was needed; empty without such roles.
    pub fn refused(&self) -> Vec<String> {
        let refused = if self.roles.is_empty() { None } else { Some(&self.refused) };
        refused.into_iter().flatten().map(ToString::to_string).collect()
    }

    /// What the roles of its manifests permit and was not needed: `delete, patch on foos.example.com`.
    pub fn beyond(&self) -> Vec<String> {
        self.roles.grants().iter().flat_map(|grant| self.beyond_of(grant)).collect()
    }

    fn beyond_of(&self, grant: &Grant) -> Vec<String> {
        let pairs = grant.groups.iter().flat_map(|group| grant.resources.iter().map(move |resource| (group, resource)));
        let unused = |(group, resource): (&String, &String)| {
            let needs = |verb: &String| {
                let is_it = |granted: &String, needed: &String| granted == needed || granted == "*";
                self.used
                    .iter()
                    .any(|used| is_it(group, &used.group) && is_it(resource, &used.resource) && used.verb == *verb)
            };
            let is_broad = |word: &String| word == "*";
            let verbs: Vec<&str> =
                grant.verbs.iter().filter(|verb| is_broad(verb) || !needs(verb)).map(String::as_str).collect();
            (!verbs.is_empty()).then(|| format!("{} on {}", verbs.join(", "), qualified(group, resource)))
        };
        pairs.filter_map(unused).collect()
    }
}

/// YAML: the smallest roles, and what the manifests grant beyond them as comments.
impl fmt::Display for RbacReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = smallest_roles(&self.name, &self.used, &self.samples, &self.namespaced);
        for (index, role) in roles.iter().enumerate() {
            let separator = if index == 0 { "" } else { "---\n" };
            write!(f, "{separator}{}", to_yaml(role))?;
        }
        for line in self.refused() {
            writeln!(f, "# the manifests do not grant: {line}")?;
        }
        self.beyond().iter().try_for_each(|line| writeln!(f, "# the manifests also grant: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_manifests_grant_and_a_run_does_not_use_is_listed() {
        let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [\
            {apiGroups: [''], resources: [pods, secrets], verbs: [get, list]}, {apiGroups: [apps], resources: ['*'], verbs: ['*']}]}";
        let roles = Roles::of(&[("f".to_owned(), role.to_owned())]).unwrap();
        let permission = |resource: &str, verb: &str| Permission {
            group: String::new(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
            namespace: String::new(),
        };
        let used =
            BTreeSet::from([permission("pods", "get"), permission("pods", "list"), permission("secrets", "get")]);
        let report = RbacReport { name: "m".to_owned(), used, roles, ..RbacReport::default() };
        assert_eq!(report.beyond(), ["list on secrets", "* on *.apps"]);
        assert!(report.to_string().contains("kind: ClusterRole"), "{report}");
    }
}
