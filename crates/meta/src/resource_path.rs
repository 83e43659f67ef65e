use crate::{GroupResource, GroupVersionResource};

/// Where in the API something is: what `/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE` names.
///
/// In Kubernetes: these members of `RequestInfo`, of `authorizer.Attributes` and of `ResourceAttributes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourcePath {
    /// The resource, in which version.
    pub resource: GroupVersionResource,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for cluster-scoped resources and for all namespaces.
    pub namespace: String,
    /// The name; empty for a collection, and where the server makes the name.
    pub name: String,
}

impl ResourcePath {
    /// The collection of a resource in all namespaces.
    pub fn new(resource: GroupVersionResource) -> Self {
        Self { resource, ..Self::default() }
    }

    /// The object called `name` in `namespace`.
    #[must_use]
    pub fn object(mut self, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self.name = name.into();
        self
    }

    /// A part of it.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = subresource.into();
        self
    }

    /// The resource without its version, as messages name it.
    pub fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }
}
