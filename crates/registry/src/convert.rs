use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_storage::Stored;

use crate::{Kind, Planned, Strategy};

impl Kind {
    /// The strategy whose rules hold for what is sent in the served version.
    pub(crate) fn ruling(&self) -> &Arc<dyn Strategy> {
        if self.strategy().has_own_rules() { self.strategy() } else { self.hub() }
    }

    /// An object of the served version in the form in which the rules are.
    pub(crate) fn to_ruled(&self, object: Object) -> Planned<Object> {
        if self.strategy().has_own_rules() { Ok(object) } else { self.to_hub(object) }
    }

    /// A stored object in the form in which the rules are.
    pub(crate) fn ruled(&self, stored: &Arc<Object>) -> Planned<Arc<Object>> {
        if self.strategy().has_own_rules() { self.served(stored) } else { Ok(Arc::clone(stored)) }
    }

    /// An object that the rules let pass in the form in which it is stored.
    pub(crate) fn to_stored(&self, ruled: Object) -> Planned<Object> {
        if !self.strategy().has_own_rules() {
            return Ok(ruled);
        }
        let mut object = self.to_hub(ruled)?;
        self.hub().prune(&mut object);
        Ok(object)
    }

    /// An object of the served version in the stored one.
    pub(crate) fn to_hub(&self, mut object: Object) -> Planned<Object> {
        if let Some(converted) = self.elsewhere(&object, self.hub().spec().gvk()) {
            return converted;
        }
        if self.is_converted() {
            self.strategy().to_hub(&mut object)?;
            object.set_kind(&self.hub().spec().row.kind);
        }
        Ok(object)
    }

    /// An object of the stored version in the served one.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the kind")]
    pub(crate) fn from_hub(&self, mut object: Object) -> Planned<Object> {
        if let Some(converted) = self.elsewhere(&object, self.gvk()) {
            return converted;
        }
        if self.is_converted() {
            self.strategy().from_hub(&mut object)?;
            object.set_kind(self.gvk());
        } else if object.api_version() != self.gvk().api_version() {
            // It was stored when another version was the one to store.
            object.set_kind(self.gvk());
        }
        Ok(object)
    }

    /// An object of this kind's version in the version of `other`, which serves the same objects.
    pub fn convert(&self, object: &Object, other: &Self) -> Planned<Object> {
        let converted = self.elsewhere(object, other.gvk());
        converted.unwrap_or_else(|| other.from_hub(self.to_hub(object.clone())?))
    }

    /// The object in the version of `to`, if it takes a program elsewhere to convert it.
    fn elsewhere(&self, object: &Object, to: &GroupVersionKind) -> Option<Planned<Object>> {
        match &self.conversions {
            Some(conversions) => Some(conversions.convert(object, &to.api_version())),
            None if self.strategy().conversion_webhook().is_none() => None,
            None => Some(Err(Status::internal("objects of this kind are converted for requests alone").into())),
        }
    }

    /// Whether clients of the served version see objects as they are stored.
    pub(crate) fn is_served_as_stored(&self) -> bool {
        !self.is_converted() && !self.strategy().fits_when_read()
    }

    /// A stored object as clients of the served version see it; shared where that is the same.
    pub(crate) fn served(&self, stored: &Arc<Object>) -> Planned<Arc<Object>> {
        if self.is_served_as_stored() { Ok(Arc::clone(stored)) } else { self.read(Object::clone(stored)).map(Arc::new) }
    }

    /// What a client of the served version gets.
    pub(crate) fn answer(&self, stored: Stored) -> Planned<Stored> {
        if self.is_served_as_stored() {
            return Ok(stored);
        }
        let object = self.read(Object::clone(&stored.object()))?;
        Ok(Stored::from_object(&Arc::new(object), stored.revision()))
    }

    /// A stored object in the served version. That of a custom kind is made to fit by the schema and the defaults of the
    /// version in which it was stored: it was sent in another one, or its definition has changed since.
    fn read(&self, mut object: Object) -> Planned<Object> {
        if !self.strategy().has_own_rules() {
            return self.from_hub(object);
        }
        self.strategy().fit_stored(&mut object);
        let mut object = self.from_hub(object)?;
        self.strategy().prune(&mut object);
        Ok(object)
    }
}
