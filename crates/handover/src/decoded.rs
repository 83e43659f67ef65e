use std::fmt;
use std::sync::{Arc, Weak};

use coracle_meta::{AnyObject, ObjectType};
use parking_lot::Mutex;

/// The decoded forms of one object at one revision, for readers in the same process.
///
/// It holds only weak references: a form that no reader holds is decoded again.
#[derive(Default)]
pub struct Decoded {
    /// Few: of a kind, its Rust type, and its metadata.
    forms: Mutex<Vec<(ObjectType, Weak<dyn AnyObject>)>>,
}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.forms.lock().iter().map(|(form, _)| *form)).finish()
    }
}

impl Decoded {
    /// The object as this type: an existing form, or else the result of `read`.
    pub fn get_or_read<E>(
        &self,
        form: ObjectType,
        read: impl FnOnce() -> Result<Arc<dyn AnyObject>, E>,
    ) -> Result<Arc<dyn AnyObject>, E> {
        let mut forms = self.forms.lock();
        let known = forms.iter().position(|(known, _)| *known == form);
        if let Some(object) = known.and_then(|at| forms[at].1.upgrade()) {
            return Ok(object);
        }
        // Decoded under the lock: concurrent callers want the same form.
        let object = read()?;
        let weak = Arc::downgrade(&object);
        match known {
            Some(at) => forms[at].1 = weak,
            None => forms.push((form, weak)),
        }
        Ok(object)
    }

    /// Frees the memory of forms that no reader holds: a weak reference keeps the allocation of a form.
    pub fn release_unused(&self) {
        let mut forms = self.forms.lock();
        forms.retain(|(_, form)| form.strong_count() > 0);
        forms.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{Object, PartialObject};

    #[test]
    fn an_object_is_decoded_once_for_each_type_while_it_is_referenced() {
        let decoded = Decoded::default();
        let read = |form: ObjectType| decoded.get_or_read(form, || form.read(b"{}", None)).unwrap();
        let (whole, metadata) = (ObjectType::of::<Object>(), ObjectType::of::<PartialObject>());
        let first = read(whole);
        assert!(Arc::ptr_eq(&first, &read(whole)));
        assert!(!Arc::ptr_eq(&first, &read(whole.without_managed_fields())));
        read(metadata);
        let before = Arc::downgrade(&first);
        drop(first);
        assert!(before.upgrade().is_none(), "it is not kept alive");
        read(whole);
        assert_eq!(decoded.forms.lock().len(), 3);
    }

    #[test]
    fn an_undecodable_object_is_an_error_that_is_not_cached() {
        let (decoded, form) = (Decoded::default(), ObjectType::of::<Object>());
        assert!(decoded.get_or_read(form, || form.read(b"[", None)).is_err());
        assert!(decoded.get_or_read(form, || form.read(b"{}", None)).is_ok());
    }

    #[test]
    fn forms_that_no_reader_holds_are_freed_and_others_stay() {
        let decoded = Decoded::default();
        let object = || -> Result<Arc<dyn AnyObject>, ()> { Ok(Arc::new(Object::default())) };
        let partial = || -> Result<Arc<dyn AnyObject>, ()> { Ok(Arc::new(PartialObject::default())) };
        let held = decoded.get_or_read(ObjectType::of::<Object>(), object).unwrap();
        drop(decoded.get_or_read(ObjectType::of::<PartialObject>(), partial).unwrap());
        decoded.release_unused();
        assert_eq!(decoded.forms.lock().len(), 1);
        let again = decoded.get_or_read(ObjectType::of::<Object>(), || Err("it is there")).unwrap();
        assert!(Arc::ptr_eq(&held, &again));
    }
}
