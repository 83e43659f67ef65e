use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};

use crate::{GroupVersionKind, Object, ObjectKey, ObjectMeta, Resource, json, lean_struct};

/// What can be known of any object, typed or not, whole or its metadata alone: enough for clients, caches and queues.
///
/// Every [`Resource`] is one, and so are [`Object`] and [`PartialObject`].
pub trait ApiObject: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Reads an object from its JSON.
    fn read_json(text: &[u8]) -> Result<Self, serde_json::Error>;

    /// Writes the object as JSON.
    fn write_json(&self) -> Result<Vec<u8>, serde_json::Error>;

    /// Namespace and name.
    fn object_key(&self) -> ObjectKey;

    /// The uid; empty before the server gave one.
    fn uid(&self) -> &str;

    /// The revision of the last write; empty before the server gave one.
    fn resource_version(&self) -> &str;

    /// All metadata.
    fn object_meta(&self) -> Cow<'_, ObjectMeta>;

    /// Drops `metadata.managedFields`, which are most of an object's memory and of no use to a cache.
    fn drop_managed_fields(&mut self);

    /// Names the kind where the object itself does not: items of a list leave it to the list.
    fn assume_kind(&mut self, kind: &GroupVersionKind);
}

lean_struct! {
    /// Only an object's metadata, which the API returns to clients that request it.
    ///
    /// In Kubernetes: `metav1.PartialObjectMetadata`.
    pub struct PartialObject {
        /// The version of the metadata object: `meta.k8s.io/v1`.
        api_version: Option<String> = "apiVersion",
        /// `PartialObjectMetadata`, whatever the object's own kind.
        kind: Option<String> = "kind",
        /// The metadata.
        metadata: ObjectMeta = "metadata",
    }
}

impl<K: Resource> ApiObject for K {
    fn read_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        K::from_json(text)
    }

    fn write_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        self.to_json()
    }

    fn object_key(&self) -> ObjectKey {
        self.key()
    }

    fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or("")
    }

    fn resource_version(&self) -> &str {
        self.meta().resource_version.as_deref().unwrap_or("")
    }

    fn object_meta(&self) -> Cow<'_, ObjectMeta> {
        Cow::Borrowed(self.meta())
    }

    fn drop_managed_fields(&mut self) {
        self.meta_mut().managed_fields = Vec::new();
    }

    fn assume_kind(&mut self, _: &GroupVersionKind) {}
}

impl ApiObject for PartialObject {
    fn read_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        json::from_slice(text)
    }

    fn write_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    fn object_key(&self) -> ObjectKey {
        let meta = &self.metadata;
        ObjectKey::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or("")
    }

    fn object_meta(&self) -> Cow<'_, ObjectMeta> {
        Cow::Borrowed(&self.metadata)
    }

    fn drop_managed_fields(&mut self) {
        self.metadata.managed_fields = Vec::new();
    }

    fn assume_kind(&mut self, _: &GroupVersionKind) {}
}

impl ApiObject for Object {
    fn read_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        json::from_slice(text)
    }

    fn write_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    fn object_key(&self) -> ObjectKey {
        self.key()
    }

    fn uid(&self) -> &str {
        self.uid()
    }

    fn resource_version(&self) -> &str {
        self.resource_version()
    }

    fn object_meta(&self) -> Cow<'_, ObjectMeta> {
        Cow::Owned(self.meta())
    }

    fn drop_managed_fields(&mut self) {
        self.remove("metadata.managedFields");
    }

    fn assume_kind(&mut self, kind: &GroupVersionKind) {
        if self.kind().is_empty() {
            self.set_kind(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_takes_the_kind_of_its_list_only_if_it_has_none() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let mut object = Object::default();
        object.assume_kind(&kind);
        assert_eq!(object.group_version_kind(), Some(kind));
        object.assume_kind(&GroupVersionKind::new("", "v1", "Pod"));
        assert_eq!(object.kind(), "Deployment");
    }

    #[test]
    fn a_partial_object_has_its_key_and_version() {
        let text = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
            "metadata":{"namespace":"default","name":"web","resourceVersion":"7","managedFields":[{"manager":"m"}]}}"#;
        let mut object: PartialObject = serde_json::from_str(text).unwrap();
        object.drop_managed_fields();
        assert_eq!(object.object_key().to_string(), "default/web");
        assert_eq!(object.resource_version(), "7");
        assert!(object.metadata.managed_fields.is_empty());
    }
}
