//! Objects with an erased Rust type, so that code for all kinds is compiled once.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::{ApiObject, GroupVersionKind, ObjectKey, ObjectMeta};

/// An object whose Rust type is forgotten: what caches, queues and clients need to know of it.
///
/// Code that works on these is compiled once, and not again for each kind; typed faces get the type back by
/// [`downcast`].
pub trait AnyObject: Any + Send + Sync {
    /// Namespace and name.
    fn object_key(&self) -> ObjectKey;

    /// The revision of the last write; empty before the server gave one.
    fn resource_version(&self) -> &str;

    /// All metadata.
    fn object_meta(&self) -> Cow<'_, ObjectMeta>;
}

impl<T: ApiObject> AnyObject for T {
    fn object_key(&self) -> ObjectKey {
        ApiObject::object_key(self)
    }

    fn resource_version(&self) -> &str {
        ApiObject::resource_version(self)
    }

    fn object_meta(&self) -> Cow<'_, ObjectMeta> {
        ApiObject::object_meta(self)
    }
}

impl fmt::Debug for dyn AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.object_key(), self.resource_version())
    }
}

/// The object as the type that it is.
///
/// # Panics
/// If it has another type: a decoded object is only returned as its own type.
pub fn downcast<T: ApiObject>(object: Arc<dyn AnyObject>) -> Arc<T> {
    let object: Arc<dyn Any + Send + Sync> = object;
    object.downcast().unwrap_or_else(|_| panic!("an object was read as {} alone", std::any::type_name::<T>()))
}

/// The object as its own type, moved out of its `Arc` if that is not shared.
///
/// # Panics
/// If the object has another type.
pub fn unwrap<T: ApiObject>(object: Arc<dyn AnyObject>) -> T {
    Arc::try_unwrap(downcast(object)).unwrap_or_else(|shared| T::clone(&shared))
}

/// As what objects are read: a Rust type, and whether it keeps `metadata.managedFields`.
#[derive(Clone, Copy)]
pub struct ObjectType {
    id: TypeId,
    name: &'static str,
    keeps_managed_fields: bool,
    read: ReadFn,
}

type ReadFn = fn(&[u8], Option<&GroupVersionKind>, bool) -> Result<Arc<dyn AnyObject>, serde_json::Error>;

impl ObjectType {
    /// Whole objects of this type.
    pub fn of<T: ApiObject>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>(), keeps_managed_fields: true, read: read::<T> }
    }

    /// The same without `metadata.managedFields`, which are most of an object's memory and of no use to a cache.
    #[must_use]
    pub fn without_managed_fields(self) -> Self {
        Self { keeps_managed_fields: false, ..self }
    }

    /// Reads an object from its JSON. `kind` is that of an item of a list, which does not name it itself.
    pub fn read(&self, json: &[u8], kind: Option<&GroupVersionKind>) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
        (self.read)(json, kind, self.keeps_managed_fields)
    }
}

/// Two readers are equal if their objects have the same type.
impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.keeps_managed_fields) == (other.id, other.keeps_managed_fields)
    }
}

impl Eq for ObjectType {}

impl fmt::Debug for ObjectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn read<T: ApiObject>(
    json: &[u8],
    kind: Option<&GroupVersionKind>,
    keeps_managed_fields: bool,
) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
    let mut object = T::read_json(json)?;
    if let Some(kind) = kind {
        object.assume_kind(kind);
    }
    if !keeps_managed_fields {
        object.drop_managed_fields();
    }
    Ok(Arc::new(object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, PartialObject};

    const TEXT: &[u8] = br#"{"metadata":{"name":"web","resourceVersion":"7","managedFields":[{"manager":"m"}]}}"#;

    #[test]
    fn an_object_is_returned_as_the_type_that_it_was_decoded_as() {
        let any = ObjectType::of::<Object>().without_managed_fields().read(TEXT, None).unwrap();
        assert_eq!(format!("{any:?}"), "web@7");
        let object: Object = unwrap(any);
        assert_eq!((object.name(), object.field("metadata.managedFields")), ("web", None));
    }

    #[test]
    fn a_shared_object_is_copied() {
        let any = ObjectType::of::<PartialObject>().read(TEXT, None).unwrap();
        let shared = downcast::<PartialObject>(any.clone());
        assert_eq!(unwrap::<PartialObject>(any), *shared);
    }

    #[test]
    #[should_panic(expected = "PartialObject alone")]
    fn another_type_is_refused() {
        let any = ObjectType::of::<Object>().read(TEXT, None).unwrap();
        downcast::<PartialObject>(any);
    }
}
