use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use coracle_expression::Prepared;
use coracle_meta::Object;
use coracle_storage::Stored;
use coracle_store::KeyValue;

/// An object of the store at one revision, which is decoded when it is first asked for: most objects that a follower
/// receives are never looked at. Clones are the same object.
#[derive(Clone, Debug)]
pub struct FollowedObject {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stored: Stored,
    object: OnceLock<Arc<Object>>,
    prepared: OnceLock<Prepared>,
}

impl FollowedObject {
    /// The object of a value; `None` if the value is not an object: the store holds a few such values.
    pub(crate) fn of(kv: &KeyValue) -> Option<Self> {
        Stored::from_value(kv.value.clone(), kv.mod_revision).ok().map(Self::from)
    }

    /// The object.
    pub fn object(&self) -> &Arc<Object> {
        self.inner.object.get_or_init(|| self.inner.stored.object())
    }

    /// The object for expressions.
    pub(crate) fn prepared(&self) -> &Prepared {
        self.inner.prepared.get_or_init(|| Prepared::new(self.object().to_value()))
    }

    /// The `apiVersion` and the kind, which need no decoded object.
    pub(crate) fn version_and_kind(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        match self.inner.stored.kind_and_version() {
            Some((kind, version)) => (version.into(), kind.into()),
            None => (self.object().api_version().into(), self.object().kind().into()),
        }
    }

    /// Whether it is of a kind.
    pub(crate) fn is_of(&self, api_version: &str, kind: &str) -> bool {
        let (own_version, own_kind) = self.version_and_kind();
        own_kind == kind && own_version == api_version
    }
}

impl From<Stored> for FollowedObject {
    fn from(stored: Stored) -> Self {
        Self { inner: Arc::new(Inner { stored, object: OnceLock::new(), prepared: OnceLock::new() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_before_the_object_is_decoded() {
        let of = |value: &'static str| {
            FollowedObject::of(&KeyValue { value: value.into(), mod_revision: 7, ..KeyValue::default() })
        };
        let map = of(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}"#).unwrap();
        assert!(map.is_of("v1", "ConfigMap") && !map.is_of("v1", "Secret") && map.inner.object.get().is_none());
        assert_eq!((map.object().name(), map.object().resource_version()), ("a", "7"));
        let odd = of(r#"{"metadata":{"name":"a"},"kind":"A\u0042","apiVersion":"v1"}"#).unwrap();
        assert!(odd.is_of("v1", "AB"));
        assert!(of("no object").is_none());
    }
}
