use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource, Scope};
use serde::Deserialize;

use crate::client::read;
use crate::{Client, Result};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A resource that the server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResource {
    /// The resource and its version.
    pub resource: GroupVersionResource,
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// Whether its objects are namespaced.
    pub scope: Scope,
    /// The supported verbs.
    pub verbs: Vec<String>,
    /// The subresources: `status`, `scale`.
    pub subresources: Vec<String>,
    /// Whether this is the version that the server prefers.
    pub preferred: bool,
}

impl ApiResource {
    /// Whether it supports all of these verbs.
    pub fn supports(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|known| known == verb))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Groups {
    items: Vec<Group>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    metadata: GroupName,
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
    resources: Vec<Served>,
    freshness: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Served {
    resource: String,
    response_kind: Kind,
    scope: String,
    verbs: Vec<String>,
    subresources: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl Client {
    /// Every resource that the server serves, in every version.
    ///
    /// In Kubernetes: `DiscoveryClient.GroupsAndMaybeResources`, in its aggregated form.
    pub async fn discover(&self) -> Result<Vec<ApiResource>> {
        Ok(self.discover_current().await?.0)
    }

    /// The same, and the versions whose server does not answer at present: their resources may be outdated or
    /// missing.
    ///
    /// In Kubernetes: the failed groups of `GroupsAndMaybeResources`.
    pub async fn discover_current(&self) -> Result<(Vec<ApiResource>, Vec<GroupVersion>)> {
        let (mut resources, mut stale) = (Vec::new(), Vec::new());
        for path in ["/api", "/apis"] {
            let groups: Groups = self.call(&read(path, AGGREGATED)).await?;
            stale.extend(groups.items.iter().flat_map(Group::stale));
            resources.extend(groups.items.into_iter().flat_map(Group::into_resources));
        }
        Ok((resources, stale))
    }
}

impl Group {
    fn stale(&self) -> impl Iterator<Item = GroupVersion> {
        let stale = self.versions.iter().filter(|version| version.freshness == "Stale");
        stale.map(|version| GroupVersion::new(self.metadata.name.as_str(), version.version.as_str()))
    }

    fn into_resources(self) -> Vec<ApiResource> {
        let group = self.metadata.name;
        let mut resources: Vec<ApiResource> = Vec::new();
        // The server lists its preferred version first.
        for Version { version, resources: served, .. } in self.versions {
            let group_version = GroupVersion::new(group.as_str(), version);
            for served in served {
                let preferred = !resources.iter().any(|known| known.resource.resource == served.resource);
                resources.push(served.into_resource(&group_version, preferred));
            }
        }
        resources
    }
}

impl Served {
    fn into_resource(self, served_in: &GroupVersion, preferred: bool) -> ApiResource {
        let GroupVersion { group, version } = served_in;
        let Kind { group: kind_group, version: kind_version, kind } = self.response_kind;
        let or = |own: String, else_: &str| if own.is_empty() { else_.to_owned() } else { own };
        ApiResource {
            resource: GroupVersionResource::new(group.as_str(), version.as_str(), self.resource),
            kind: GroupVersionKind::new(or(kind_group, group), or(kind_version, version), kind),
            scope: if self.scope == "Namespaced" { Scope::Namespaced } else { Scope::Cluster },
            verbs: self.verbs,
            subresources: self.subresources.into_iter().map(|part| part.subresource).collect(),
            preferred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_that_has_a_resource_is_the_preferred_one() {
        let text = r#"{"metadata":{"name":"autoscaling"},"versions":[
            {"version":"v2","resources":[{"resource":"hpas","responseKind":{"kind":"HPA"},"scope":"Namespaced","verbs":["get","list"]}]},
            {"version":"v1","resources":[{"resource":"hpas","responseKind":{"kind":"HPA"},"scope":"Namespaced"},
                                         {"resource":"scales","responseKind":{"kind":"Scale"},"scope":"Cluster"}]}]}"#;
        let group: Group = serde_json::from_str(text).unwrap();
        let found: Vec<_> = group
            .into_resources()
            .into_iter()
            .map(|found| (found.resource.version, found.resource.resource, found.preferred))
            .collect();
        let expected = [("v2", "hpas", true), ("v1", "hpas", false), ("v1", "scales", true)];
        assert_eq!(found, expected.map(|(version, name, preferred)| (version.into(), name.into(), preferred)));
    }
}
