use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_expression::Allowance;
use coracle_meta::{FieldError, Object, Status};

use super::kind_spec::paths;
use crate::restore::{restore, restore_metadata};
use crate::{ConversionWebhook, KindSpec, Request};

/// The behaviour of a kind.
///
/// A built-in kind consists of its [`KindSpec`]. The behaviour of a custom kind depends on its definition, so it
/// overrides methods of this trait. Everything else is read from [`KindSpec`] directly.
pub trait Strategy: Send + Sync + 'static {
    /// The description of the kind.
    fn spec(&self) -> &KindSpec;

    /// Converts an object of this version to the hub's version.
    fn to_hub(&self, object: &mut Object) -> Result<(), Status> {
        (self.spec().to_hub)(object);
        Ok(())
    }

    /// Converts an object of the hub's version to this version.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the strategy")]
    fn from_hub(&self, object: &mut Object) -> Result<(), Status> {
        (self.spec().from_hub)(object);
        Ok(())
    }

    /// Whether objects in this version are validated by its own rules instead of the hub's: each version of a custom
    /// kind has a schema.
    fn has_own_rules(&self) -> bool {
        false
    }

    /// The strategy of the stored version, which may be unserved.
    fn hub(&self) -> Option<Arc<dyn Strategy>> {
        None
    }

    /// Whether stored objects may not match the current schema of the stored version, so that reads adapt them.
    fn fits_when_read(&self) -> bool {
        false
    }

    /// Adapts a stored object to the current schema of its stored version.
    fn fit_stored(&self, _object: &mut Object) {}

    /// The webhook that converts objects between versions, if a change of `apiVersion` does not suffice.
    fn conversion_webhook(&self) -> Option<&Arc<ConversionWebhook>> {
        None
    }

    /// Why no object of the kind can be created at present. In Kubernetes: `forbidCreateAdmission`.
    fn refuses_new_objects(&self) -> Option<&'static str> {
        None
    }

    /// Removes fields that this version does not have.
    fn prune(&self, _object: &mut Object) {}

    /// Drops the nulls of fields that are not nullable from a decoded document. Typed kinds have none left.
    fn drop_nulls(&self, _object: &mut Object) {}

    /// Sets the defaults of this version.
    fn set_defaults(&self, object: &mut Object) {
        let spec = self.spec();
        (spec.set_defaults)(object, &spec.release);
        (spec.set_part_defaults)(&spec.schema, object);
    }

    /// Sets the defaults of this version and, in a write at this time, the missing times.
    fn set_defaults_at(&self, object: &mut Object, now: Timestamp) {
        self.set_defaults(object);
        (self.spec().set_times)(object, now);
    }

    /// The errors of a new object, except those of its metadata and rules.
    fn validate(&self, object: &Object) -> Vec<FieldError> {
        let spec = self.spec();
        let mut wrong = spec.wrong_finalizers(object);
        wrong.extend((spec.validate)(object, &spec.release));
        wrong.extend((spec.validate_create)(object, &spec.release));
        wrong
    }

    /// The errors of a change, including those of `new` alone, except those of its metadata and rules.
    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let spec = self.spec();
        let mut wrong = spec.wrong_finalizers(new);
        wrong.extend((spec.validate)(new, &spec.release));
        wrong.extend((spec.validate_change)(new, old, &spec.release));
        wrong
    }

    /// Prepares an update through `/status`.
    fn prepare_status_update(&self, new: &mut Object, old: &Object, request: &Request) {
        let spec = self.spec();
        for path in spec.reset_by_status {
            match *path {
                "metadata" => restore_metadata(new, old),
                path => restore(new, old, path),
            }
        }
        (spec.prepare_status)(new, old, request, &spec.release);
    }

    /// The errors of an update through `/status`, except those of rules.
    fn validate_status_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let spec = self.spec();
        (spec.validate_status)(new, old, &spec.release)
    }

    /// Whether the kind has validation rules in CEL, in addition to the checks above.
    fn has_rules(&self) -> bool {
        false
    }

    /// The errors of the rules within an allowance; this may take long.
    fn check_rules(&self, _new: &Object, _old: Option<&Object>, _allowance: &Allowance) -> Vec<FieldError> {
        Vec::new()
    }

    /// The fields that a write through `/status` resets and does not own.
    fn reset_status_fields(&self) -> Vec<Vec<String>> {
        let spec = self.spec();
        paths(&[spec.reset_by_status, spec.disowned_by_status].concat())
    }

    /// The selectable fields, see [`KindSpec::selectable`].
    fn selectable_fields(&self) -> Option<Vec<&str>> {
        self.spec().selectable.map(<[&str]>::to_vec)
    }
}

impl Strategy for KindSpec {
    fn spec(&self) -> &KindSpec {
        self
    }
}
