use std::collections::BTreeMap;

use coracle_client::ApiResource;
use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource, Scope};

/// Maps kinds to resources. In Kubernetes: `RESTMapper`.
#[derive(Debug, Default)]
pub(crate) struct Mapper {
    resources: BTreeMap<(String, String), (GroupVersionResource, Scope)>,
}

impl Mapper {
    pub(crate) fn new(resources: &[ApiResource]) -> Self {
        let entry = |found: &ApiResource| {
            let GroupVersionKind { kind, .. } = &found.kind;
            // If a kind has several resources, the first readable one is used.
            let served = found.resource.group_version().to_string();
            found.supports(&["get"]).then(|| ((served, kind.clone()), (found.resource.clone(), found.scope)))
        };
        let mut mapper = Self::default();
        for (key, value) in resources.iter().filter_map(entry) {
            mapper.resources.entry(key).or_insert(value);
        }
        mapper
    }

    /// The resource of a kind; the error has Kubernetes' wording.
    pub(crate) fn resource(&self, api_version: &str, kind: &str) -> Result<(GroupVersionResource, Scope), String> {
        let known = GroupVersion::parse(api_version).is_some();
        let found = self.resources.get(&(api_version.to_owned(), kind.to_owned())).filter(|_| known).cloned();
        found.ok_or_else(|| format!("unable to get REST mapping for {api_version}/{kind}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unserved_kind_is_an_error() {
        let served = ApiResource {
            resource: GroupVersionResource::new("apps", "v1", "deployments"),
            kind: GroupVersionKind::new("apps", "v1", "Deployment"),
            scope: Scope::Namespaced,
            verbs: vec!["get".to_owned()],
            subresources: Vec::new(),
            preferred: true,
        };
        let mapper = Mapper::new(&[served]);
        assert_eq!(mapper.resource("apps/v1", "Deployment").unwrap().0.resource, "deployments");
        let error = mapper.resource("apps/v1beta1", "Deployment").unwrap_err();
        assert_eq!(error, "unable to get REST mapping for apps/v1beta1/Deployment.");
    }
}
