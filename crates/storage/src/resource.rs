use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use coracle_meta::{GroupResource, Object, ObjectKey};
use coracle_store::{KeyRange, Revision};

use crate::stored::NotStorable;
use crate::{Stored, render_head};

/// The default prefix of all keys.
const ROOT: &str = "/registry";

/// The range of all objects of all resources.
pub fn all_objects() -> KeyRange {
    KeyRange::prefix(format!("{ROOT}/"))
}

/// Returns the value of a field of an object for field selectors.
pub type FieldReader = Box<dyn Fn(&Object, &str) -> String + Send + Sync>;

/// Whether an object in the layout of this server has the shape of its kind.
pub type ShapeCheck = Box<dyn Fn(&Object) -> bool + Send + Sync>;

/// Decodes a value that another server wrote: in another version or another encoding.
pub type ForeignReader = Box<dyn Fn(&[u8]) -> Result<Object, String> + Send + Sync>;

/// The keys of one resource's objects in the store, and its selectable fields.
///
/// Keys are those of Kubernetes: `/registry/<directory>/[<namespace>/]<name>`, so that tools for etcd work.
pub struct Resource {
    /// The resource in messages.
    pub name: GroupResource,
    /// The folder of all resources: `/registry`. In Kubernetes: `--etcd-prefix`.
    pub root: Arc<str>,
    /// The folder below that: `deployments`, as in Kubernetes, not `apps/deployments`.
    pub directory: String,
    /// Whether objects are namespaced.
    pub namespaced: bool,
    /// The selectable fields, in addition to name and namespace.
    pub selectable: Vec<String>,
    /// The fields that many watches select: an event wakes only the watches of its value.
    pub indexed: Vec<String>,
    /// Reads a selectable field.
    pub field: FieldReader,
    /// The prefix of each value of this server, if all have one kind and version; else empty.
    head: Vec<u8>,
    foreign: ForeignReader,
    has_shape: ShapeCheck,
}

impl Resource {
    /// A resource without selectable fields.
    pub fn new(name: GroupResource, directory: impl Into<String>, namespaced: bool) -> Self {
        Self {
            name,
            root: ROOT.into(),
            directory: directory.into(),
            namespaced,
            selectable: Vec::new(),
            indexed: Vec::new(),
            field: Box::new(|_, _| String::new()),
            head: Vec::new(),
            foreign: Box::new(|value| {
                let tree = coracle_meta::json::from_slice(value).map_err(|error| error.to_string())?;
                Object::from_value(tree).map_err(|error| error.to_string())
            }),
            has_shape: Box::new(|_| true),
        }
    }

    /// All values have this kind and version; `foreign` converts others.
    #[must_use]
    pub fn holds(mut self, kind: &str, api_version: &str, foreign: ForeignReader) -> Self {
        self.head = render_head(kind, api_version);
        self.foreign = foreign;
        self
    }

    /// Values may have any kind and version; `foreign` decodes those that this server did not write.
    #[must_use]
    pub fn holds_any(self, foreign: ForeignReader) -> Self {
        Self { foreign, ..self }
    }

    /// A value in the layout of this server that `has_shape` rejects is passed to the reader of foreign values.
    #[must_use]
    pub fn checks(self, has_shape: ShapeCheck) -> Self {
        Self { has_shape, ..self }
    }

    /// Decodes a value of the store. A value that this server did not write is converted to its layout.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, value: Bytes, revision: Revision) -> Result<Stored, NotStorable> {
        self.read_object(value, revision).map(|(stored, _)| stored)
    }

    /// The same, with the parsed object.
    pub(crate) fn read_object(&self, value: Bytes, revision: Revision) -> Result<(Stored, Arc<Object>), NotStorable> {
        if value.starts_with(&self.head)
            && let Some(stored) = Stored::from_own_value(&value, revision)
        {
            let object = stored.object();
            if (self.has_shape)(&object) {
                return Ok((stored, object));
            }
        }
        let object = Arc::new((self.foreign)(&value).map_err(NotStorable)?);
        Ok((Stored::from_object(&object, revision), object))
    }

    /// `/registry/<directory>/`
    pub fn prefix(&self) -> String {
        format!("{}/{}/", self.root, self.directory)
    }

    /// A key without this prefix; `None` if it has another one.
    pub(crate) fn below_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let below_root = key.strip_prefix(&*self.root)?.strip_prefix('/')?;
        below_root.strip_prefix(self.directory.as_str())?.strip_prefix('/')
    }

    /// The key of one object.
    pub fn key(&self, object: &ObjectKey) -> Bytes {
        format!("{}{}", self.prefix(), self.short_key(object)).into()
    }

    /// The key of one object without the resource's prefix.
    pub(crate) fn short_key(&self, object: &ObjectKey) -> String {
        if self.namespaced { format!("{}/{}", object.namespace, object.name) } else { object.name.clone() }
    }

    /// The subject of an object in the event log: `pods/default/web`, `nodes/n1`.
    pub(crate) fn subject(&self, object: &ObjectKey) -> String {
        format!("{}/{}", self.name.resource, self.short_key(object))
    }

    /// The range of all objects, or of those in one namespace.
    pub fn range(&self, namespace: &str) -> KeyRange {
        if namespace.is_empty() || !self.namespaced {
            KeyRange::prefix(self.prefix())
        } else {
            KeyRange::prefix(format!("{}{namespace}/", self.prefix()))
        }
    }

    /// The namespace and name in a key; `None` if the key does not belong to this resource.
    pub fn object_key(&self, key: &[u8]) -> Option<ObjectKey> {
        let rest = self.below_prefix(std::str::from_utf8(key).ok()?)?;
        if !self.namespaced {
            return Some(ObjectKey::cluster(rest));
        }
        let (namespace, name) = rest.split_once('/')?;
        Some(ObjectKey::new(namespace, name))
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("name", &self.name).field("directory", &self.directory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_kubernetes_and_can_be_read_back() {
        let pods = Resource::new(GroupResource::new("", "pods"), "pods", true);
        let key = ObjectKey::new("default", "web");
        assert_eq!(&pods.key(&key)[..], b"/registry/pods/default/web");
        assert_eq!(pods.object_key(&pods.key(&key)), Some(key));
        assert!(!pods.range("default").contains(b"/registry/pods/default-2/web"));
        let nodes = Resource::new(GroupResource::new("", "nodes"), "minions", false);
        assert_eq!(&nodes.key(&ObjectKey::cluster("n"))[..], b"/registry/minions/n");
        assert_eq!(nodes.subject(&ObjectKey::cluster("n")), "nodes/n");
    }
}
