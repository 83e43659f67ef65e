use std::sync::Arc;

use coracle_meta::{Object, Status};
use coracle_storage::Stored;

use crate::Kind;

impl Kind {
    /// An object of the served version in the form in which it is stored and in which the rules are.
    pub(crate) fn to_hub(&self, mut object: Object) -> Result<Object, Status> {
        if self.is_converted() {
            self.strategy().to_hub(&mut object)?;
            object.set_kind(&self.hub().spec().row.kind);
        }
        Ok(object)
    }

    /// An object of the stored form in the served version.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the kind")]
    pub(crate) fn from_hub(&self, mut object: Object) -> Result<Object, Status> {
        if self.is_converted() {
            self.strategy().from_hub(&mut object)?;
            object.set_kind(self.gvk());
        }
        Ok(object)
    }

    /// An object of the stored form as clients of the served version see it; shared where that is the same.
    pub(crate) fn served(&self, object: &Arc<Object>) -> Result<Arc<Object>, Status> {
        if self.is_converted() { self.from_hub(Object::clone(object)).map(Arc::new) } else { Ok(Arc::clone(object)) }
    }

    /// What a client of the served version gets.
    pub(crate) fn answer(&self, stored: Stored) -> Result<Stored, Status> {
        if !self.is_converted() {
            return Ok(stored);
        }
        let object = self.from_hub(Object::clone(&stored.object()))?;
        Ok(Stored::from_object(&Arc::new(object), stored.revision()))
    }
}
