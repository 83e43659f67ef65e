use serde::{Serialize, de::DeserializeOwned};

use crate::{GroupResource, GroupVersionKind, GroupVersionResource, ObjectKey, ObjectMeta};

/// Whether a kind lives in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the cluster as a whole.
    Cluster,
}

/// A kind of the API as a Rust type: what clients and informers need to know of it.
///
/// Implemented by the generated types of `api`, and by anyone for a custom resource.
///
/// ```
/// use coracle_meta::{ObjectMeta, Resource, Scope};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Default, Serialize, Deserialize)]
/// struct Website {
///     metadata: ObjectMeta,
///     replicas: i32,
/// }
///
/// impl Resource for Website {
///     const GROUP: &'static str = "example.com";
///     const VERSION: &'static str = "v1";
///     const KIND: &'static str = "Website";
///     const PLURAL: &'static str = "websites";
///     const SCOPE: Scope = Scope::Namespaced;
///
///     fn meta(&self) -> &ObjectMeta {
///         &self.metadata
///     }
///
///     fn meta_mut(&mut self) -> &mut ObjectMeta {
///         &mut self.metadata
///     }
/// }
///
/// let blog = Website::from_json(br#"{"metadata": {"namespace": "default", "name": "blog"}, "replicas": 3}"#).unwrap();
/// assert_eq!(blog.key().to_string(), "default/blog");
/// assert_eq!(Website::api_version(), "example.com/v1");
/// ```
pub trait Resource: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The group; empty for the core group.
    const GROUP: &'static str;
    /// The version.
    const VERSION: &'static str;
    /// The kind.
    const KIND: &'static str;
    /// The plural, as in URLs.
    const PLURAL: &'static str;
    /// Whether objects live in namespaces.
    const SCOPE: Scope;

    /// Decodes an object from its JSON. The crate of a type can override this, so that other crates do not have to
    /// compile the decoder again.
    fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        crate::json::from_slice(text)
    }

    /// Writes the object as JSON; where it is compiled is as with [`from_json`](Self::from_json).
    fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// The metadata.
    fn meta(&self) -> &ObjectMeta;

    /// The metadata, to change.
    fn meta_mut(&mut self) -> &mut ObjectMeta;

    /// `metadata.name`; empty if it is missing.
    fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`; empty if it is missing.
    fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }

    /// `metadata.uid`; empty if it is missing.
    fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    /// Namespace and name.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.meta().namespace.clone().unwrap_or_default(), self.meta().name.clone().unwrap_or_default())
    }

    /// The kind with its group and version.
    fn kind() -> GroupVersionKind {
        GroupVersionKind::new(Self::GROUP, Self::VERSION, Self::KIND)
    }

    /// The resource with its group and version.
    fn resource() -> GroupVersionResource {
        GroupVersionResource::new(Self::GROUP, Self::VERSION, Self::PLURAL)
    }

    /// The resource with its group.
    fn group_resource() -> GroupResource {
        GroupResource::new(Self::GROUP, Self::PLURAL)
    }

    /// `v1`, `apps/v1`.
    fn api_version() -> String {
        Self::kind().api_version()
    }
}
