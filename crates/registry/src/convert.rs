use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_storage::Stored;

use crate::{Kind, Planned, Strategy};

impl Kind {
    /// The strategy whose rules apply to objects in the served version.
    pub(crate) fn ruling(&self) -> &Arc<dyn Strategy> {
        if self.strategy().has_own_rules() { self.strategy() } else { self.hub() }
    }

    /// Converts an object of the served version to the version of the rules.
    pub(crate) fn to_ruled(&self, object: Object) -> Planned<Object> {
        if self.strategy().has_own_rules() { Ok(object) } else { self.to_hub(object) }
    }

    /// Converts a stored object to the version of the rules.
    pub(crate) fn ruled(&self, stored: &Arc<Object>) -> Planned<Arc<Object>> {
        if self.strategy().has_own_rules() { self.served(stored) } else { Ok(Arc::clone(stored)) }
    }

    /// Converts a validated object to the stored version.
    pub(crate) fn to_stored(&self, ruled: Object) -> Planned<Object> {
        if !self.strategy().has_own_rules() {
            return Ok(ruled);
        }
        let mut object = self.to_hub(ruled)?;
        self.hub().prune(&mut object);
        Ok(object)
    }

    /// Converts an object of the served version to the stored one.
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

    /// Converts an object of the stored version to the served one.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the kind")]
    pub(crate) fn from_hub(&self, mut object: Object) -> Planned<Object> {
        if let Some(converted) = self.elsewhere(&object, self.gvk()) {
            return converted;
        }
        if self.is_converted() {
            self.strategy().from_hub(&mut object)?;
            object.set_kind(self.gvk());
        } else if object.api_version() != self.gvk().api_version() {
            // It was stored when another version was the storage version.
            object.set_kind(self.gvk());
        }
        Ok(object)
    }

    /// An object of this kind's version in the version of `other`, which serves the same objects.
    pub fn convert(&self, object: &Object, other: &Self) -> Planned<Object> {
        let converted = self.elsewhere(object, other.gvk());
        converted.unwrap_or_else(|| other.from_hub(self.to_hub(object.clone())?))
    }

    /// Converts the object to the version of `to`, if a webhook converts it.
    fn elsewhere(&self, object: &Object, to: &GroupVersionKind) -> Option<Planned<Object>> {
        match &self.conversions {
            Some(conversions) => Some(conversions.convert(object, &to.api_version())),
            None if self.strategy().conversion_webhook().is_none() => None,
            None => Some(Err(Status::internal("objects of this kind are converted for requests alone").into())),
        }
    }

    /// Whether objects in the served version equal the stored ones.
    pub(crate) fn is_served_as_stored(&self) -> bool {
        !self.is_converted() && !self.strategy().fits_when_read()
    }

    /// A stored object in the served version; shared if the two are equal.
    pub(crate) fn served(&self, stored: &Arc<Object>) -> Planned<Arc<Object>> {
        if self.is_served_as_stored() { Ok(Arc::clone(stored)) } else { self.read(Object::clone(stored)).map(Arc::new) }
    }

    /// The object for a client of the served version.
    pub(crate) fn answer(&self, stored: Stored) -> Planned<Stored> {
        if self.is_served_as_stored() {
            return Ok(stored);
        }
        let object = self.read(Object::clone(&stored.object()))?;
        Ok(Stored::from_object(&Arc::new(object), stored.revision()))
    }

    /// A stored object in the served version. An object of a custom kind is adapted to the schema and the defaults of
    /// its stored version, because it was sent in another version, or its definition has changed since.
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
