use std::sync::Arc;

use coracle_expression::Allowance;
use coracle_meta::{FieldError, Object, Status};

use super::kind_spec::paths;
use crate::restore::{restore, restore_metadata};
use crate::{ConversionWebhook, KindSpec, Request};

/// How the description of a kind is put to use.
///
/// A built-in kind is its description and nothing else. What a custom kind does depends on its definition, so it does
/// some of this by itself: whatever is asked here. All else is read from [`KindSpec`] without asking.
pub trait Strategy: Send + Sync + 'static {
    /// The description of the kind.
    fn spec(&self) -> &KindSpec;

    /// Turns an object of this version into one of the hub's.
    fn to_hub(&self, object: &mut Object) -> Result<(), Status> {
        (self.spec().to_hub)(object);
        Ok(())
    }

    /// Turns an object of the hub's version into one of this.
    #[expect(clippy::wrong_self_convention, reason = "the object is converted, not the strategy")]
    fn from_hub(&self, object: &mut Object) -> Result<(), Status> {
        (self.spec().from_hub)(object);
        Ok(())
    }

    /// Whether what is sent in this version is held to its own rules, and not to the hub's: of a custom kind each version
    /// has a schema.
    fn has_own_rules(&self) -> bool {
        false
    }

    /// The strategy of the stored version, where that need not be served.
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

    /// Why no object of the kind may be created at present. In Kubernetes: `forbidCreateAdmission`.
    fn refuses_new_objects(&self) -> Option<&'static str> {
        None
    }

    /// Removes what this version does not have.
    fn prune(&self, _object: &mut Object) {}

    /// Drops the nulls of a document that was decoded, where null is no value. Typed kinds have none left.
    fn drop_nulls(&self, _object: &mut Object) {}

    /// Fills in the defaults of this version.
    fn set_defaults(&self, object: &mut Object) {
        let spec = self.spec();
        (spec.set_defaults)(object);
        (spec.set_part_defaults)(&spec.schema, object);
    }

    /// What is wrong with a new object, its metadata and rules aside.
    fn validate(&self, object: &Object) -> Vec<FieldError> {
        let spec = self.spec();
        let mut wrong = spec.wrong_finalizers(object);
        wrong.extend((spec.validate)(object));
        wrong.extend((spec.validate_create)(object));
        wrong
    }

    /// What is wrong with a change, metadata and rules aside; includes what is wrong with `new` alone.
    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let spec = self.spec();
        let mut wrong = spec.wrong_finalizers(new);
        wrong.extend((spec.validate)(new));
        wrong.extend((spec.validate_change)(new, old));
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
        (spec.prepare_status)(new, old, request);
    }

    /// What is wrong with an update through `/status`, rules aside.
    fn validate_status_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        (self.spec().validate_status)(new, old)
    }

    /// Whether the kind has validation rules in CEL, in addition to the checks above.
    fn has_rules(&self) -> bool {
        false
    }

    /// What the rules say, as far as they are allowed to go: that may take long.
    fn check_rules(&self, _new: &Object, _old: Option<&Object>, _allowance: &Allowance) -> Vec<FieldError> {
        Vec::new()
    }

    /// The fields that a write through `/status` resets, and does not own.
    fn reset_status_fields(&self) -> Vec<Vec<String>> {
        let spec = self.spec();
        paths(&[spec.reset_by_status, spec.disowned_by_status].concat())
    }

    /// The fields that a field selector may name, see [`KindSpec::selectable`].
    fn selectable_fields(&self) -> Option<Vec<&str>> {
        self.spec().selectable.map(<[&str]>::to_vec)
    }
}

impl Strategy for KindSpec {
    fn spec(&self) -> &KindSpec {
        self
    }
}
