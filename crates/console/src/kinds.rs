//! The kinds that the server serves, and which of them a word on the command line means.

use coracle_client::RawRequest;
use coracle_meta::percent;
use serde_json::Value;

use crate::failure::Failure;
use crate::values::{list, text};

/// The aggregated form of discovery.
pub(crate) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A kind in one version, and its resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServedKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) is_namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<String>,
    /// Whether the server prefers this version of the resource.
    pub(crate) is_preferred: bool,
}

impl ServedKind {
    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The kind as names carry it: `pod`, `deployment.apps`.
    pub(crate) fn in_names(&self) -> String {
        with_group(&self.kind.to_lowercase(), &self.group)
    }

    /// The resource with its group: `pods`, `deployments.apps`.
    pub(crate) fn resource(&self) -> String {
        with_group(&self.plural, &self.group)
    }

    pub(crate) fn is_named(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// The path of the resource in a namespace, of an object, or of its subresource; empty parts are left out.
    pub(crate) fn path(&self, namespace: &str, name: &str, subresource: &str) -> String {
        let mut path = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let mut push = |part: &str| {
            path.push('/');
            path.extend(percent::component(part));
        };
        if self.is_namespaced && !namespace.is_empty() {
            push("namespaces");
            push(namespace);
        }
        push(&self.plural);
        for part in [name, subresource].into_iter().filter(|part| !part.is_empty()) {
            push(part);
        }
        path
    }
}

fn with_group(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// All kinds of the server, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    all: Vec<ServedKind>,
}

impl Kinds {
    /// The requests that answer what [`Kinds::read`] reads.
    pub(crate) fn requests() -> [RawRequest; 2] {
        ["/api", "/apis"].map(|path| RawRequest::get(path, AGGREGATED))
    }

    /// Reads the answers.
    pub(crate) fn read(answers: &[Value]) -> Self {
        let mut all = Vec::new();
        for group in answers.iter().flat_map(|answer| list(answer, "/items")) {
            let first = all.len();
            for version in list(group, "/versions") {
                for served in list(version, "/resources") {
                    let mut kind = kind_of(text(group, "/metadata/name"), text(version, "/version"), served);
                    kind.is_preferred = !all[first..].iter().any(|known: &ServedKind| known.plural == kind.plural);
                    all.push(kind);
                }
            }
        }
        Self { all }
    }

    pub(crate) fn all(&self) -> &[ServedKind] {
        &self.all
    }

    fn preferred(&self) -> impl Iterator<Item = &ServedKind> {
        self.all.iter().filter(|kind| kind.is_preferred)
    }

    /// The kind that a manifest names.
    pub(crate) fn of_manifest(&self, api_version: &str, kind: &str) -> Option<&ServedKind> {
        self.all.iter().find(|known| known.kind == kind && known.api_version() == api_version)
    }

    /// The preferred version of a kind of a group.
    pub(crate) fn of_group(&self, group: &str, kind: &str) -> Option<&ServedKind> {
        self.preferred().find(|known| known.is_named(group, kind))
    }

    /// The kinds of a category, as `all`.
    pub(crate) fn of_category(&self, category: &str) -> Vec<ServedKind> {
        self.preferred().filter(|kind| kind.categories.iter().any(|known| known == category)).cloned().collect()
    }

    /// The kind that a word means: `po`, `pods`, `Pod`, `deployments.apps`, `deployments.v1.apps`.
    ///
    /// # Errors
    /// If the server has no such kind.
    pub(crate) fn of_word(&self, word: &str) -> Result<&ServedKind, Failure> {
        let lower = word.to_lowercase();
        let (name, rest) = lower.split_once('.').unwrap_or((&lower, ""));
        let found = rest.split_once('.').and_then(|(version, group)| {
            self.all.iter().find(|kind| kind.version == version && kind.group == group && is_called(kind, name))
        });
        let in_group = |matches: &dyn Fn(&ServedKind) -> bool, called: &dyn Fn(&ServedKind) -> bool| {
            self.preferred().find(|kind| matches(kind) && called(kind))
        };
        let exact = |kind: &ServedKind| rest.is_empty() || kind.group == rest;
        let prefix = |kind: &ServedKind| kind.group.starts_with(rest);
        let short = |kind: &ServedKind| kind.short_names.iter().any(|known| known == name);
        let found = found
            .or_else(|| in_group(&exact, &|kind| is_called(kind, name)))
            .or_else(|| in_group(&prefix, &|kind| is_called(kind, name)))
            .or_else(|| in_group(&exact, &short))
            .or_else(|| in_group(&prefix, &short));
        let named = word.split('.').next().unwrap_or_default();
        found.ok_or_else(|| Failure::text(format!("the server doesn't have a resource type \"{named}\"")))
    }
}

fn is_called(kind: &ServedKind, name: &str) -> bool {
    kind.plural == name || kind.singular == name || kind.kind.to_lowercase() == name
}

fn kind_of(group: &str, version: &str, served: &Value) -> ServedKind {
    let texts = |pointer: &str| list(served, pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let or = |own: &str, default: &str| if own.is_empty() { default.to_owned() } else { own.to_owned() };
    let kind = text(served, "/responseKind/kind");
    let subresources = list(served, "/subresources").iter().map(|part| text(part, "/subresource").to_owned());
    ServedKind {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: text(served, "/resource").to_owned(),
        singular: or(text(served, "/singularResource"), &kind.to_lowercase()),
        kind: kind.to_owned(),
        short_names: texts("/shortNames"),
        categories: texts("/categories"),
        is_namespaced: text(served, "/scope") == "Namespaced",
        verbs: texts("/verbs"),
        subresources: subresources.collect(),
        is_preferred: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds() -> Kinds {
        let kind = |plural: &str, kind: &str, short: &[&str], scope: &str| {
            json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "shortNames": short,
                "categories": if plural == "nodes" { json!([]) } else { json!(["all"]) }})
        };
        let core = json!({"items": [{"versions": [{"version": "v1", "resources": [
            kind("nodes", "Node", &["no"], "Cluster"), kind("pods", "Pod", &["po"], "Namespaced"),
            kind("events", "Event", &["ev"], "Namespaced")]}]}]});
        let apps = kind("deployments", "Deployment", &["deploy"], "Namespaced");
        let events = kind("events", "Event", &["ev"], "Namespaced");
        let groups = json!({"items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [apps]}]},
            {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [events]}]}]});
        Kinds::read(&[core, groups])
    }

    #[test]
    fn a_word_means_a_plural_a_singular_a_kind_or_a_short_name() {
        let kinds = kinds();
        for (word, resource) in [
            ("po", "pods"),
            ("pod", "pods"),
            ("Pods", "pods"),
            ("deploy", "deployments.apps"),
            ("deployment.apps", "deployments.apps"),
            ("deployments.v1.apps", "deployments.apps"),
            ("ev", "events"),
            ("events.events.k8s.io", "events.events.k8s.io"),
            ("events.events", "events.events.k8s.io"),
        ] {
            assert_eq!(kinds.of_word(word).unwrap().resource(), resource, "{word}");
        }
        let unknown = kinds.of_word("foo.bar").unwrap_err().message();
        assert_eq!(unknown, "error: the server doesn't have a resource type \"foo\"\n");
    }

    #[test]
    fn paths_have_the_namespace_only_of_namespaced_kinds() {
        let kinds = kinds();
        let deployment = kinds.of_manifest("apps/v1", "Deployment").unwrap();
        assert_eq!(deployment.path("a", "web", "scale"), "/apis/apps/v1/namespaces/a/deployments/web/scale");
        assert_eq!(kinds.of_word("no").unwrap().path("a", "", ""), "/api/v1/nodes");
        assert_eq!(kinds.of_category("all").len(), 4);
    }
}
