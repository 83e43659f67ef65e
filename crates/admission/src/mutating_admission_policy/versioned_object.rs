use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{BodyKind, Kind, Review, Subresource};
use coracle_schema::apply::{TablePlace, merge_configuration};
use coracle_schema::decode::{Decoded, decode_patched};
use coracle_schema::patch::JsonPatch;
use serde_json::{Map, Value};

use super::policy::ComputedPatch;
use crate::request_view::kind_of;
use crate::shown::{Shown, is_whole};

/// The object of a request in the version of a policy, as its mutations leave it.
/// In Kubernetes: `admission.VersionedAttributes`.
pub(super) struct VersionedObject {
    /// The kind whose version is used, if it is not the request's.
    elsewhere: Option<Arc<Kind>>,
    /// Null without an object.
    value: Value,
    /// The object after the last mutation that changed it.
    changed: Option<Object>,
}

/// Why a mutation was not applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MutationFailure {
    /// The policy is wrong, so its failure policy decides.
    OfPolicy(String),
    /// The result is no object of the kind, which always ends the request.
    OfResult(String),
}

/// The schema of the object: of its kind, or of the body of a subresource.
enum Form<'r> {
    Kind(&'r Kind),
    Body(BodyKind),
    Unknown,
}

impl VersionedObject {
    pub(super) fn new(review: &Review<'_>, shown: &Shown) -> Self {
        // The body of a subresource has only one version.
        let is_whole = review.object().is_some_and(|object| is_whole(review, object));
        let elsewhere = shown.elsewhere.clone().filter(|_| is_whole);
        Self { elsewhere, value: shown.object.clone(), changed: None }
    }

    pub(super) fn is_there(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// The object in the version of the request, if mutations have changed it.
    ///
    /// # Errors
    /// If it cannot be converted.
    pub(super) async fn into_changed(self, review: &Review<'_>) -> Result<Option<Object>, Status> {
        match (self.changed, &self.elsewhere) {
            (Some(object), Some(elsewhere))
                if is_whole(review, &object) || review.request.at.subresource.is_empty() =>
            {
                let back = || elsewhere.convert(&object, review.kind());
                review.registry.planned(review.request, review.kind(), back).await.map(Some)
            }
            (changed, _) => Ok(changed),
        }
    }

    /// Applies a patch; returns whether the object has changed.
    ///
    /// # Errors
    /// Why the patch cannot be applied; the object stays as it was.
    pub(super) fn patch(&mut self, review: &Review<'_>, patch: ComputedPatch) -> Result<bool, MutationFailure> {
        let form = self.form(review);
        let patched = match patch {
            ComputedPatch::Configuration(configuration) => Some(self.apply(review, &form, configuration)?),
            ComputedPatch::Operations(operations) => self.perform(&form, operations)?,
        };
        let Some(mut object) = patched else { return Ok(false) };
        if let Form::Kind(kind) = form {
            kind.strategy().set_defaults(&mut object);
        }
        if *object.as_value() == self.value {
            return Ok(false);
        }
        self.value = object.to_value();
        self.changed = Some(object);
        Ok(true)
    }

    fn form<'r>(&'r self, review: &'r Review<'_>) -> Form<'r> {
        if review.object().is_some_and(|object| is_whole(review, object)) {
            return Form::Kind(self.elsewhere.as_deref().unwrap_or(review.kind()));
        }
        let body = review.kind().subresource(&review.request.at.subresource).and_then(Subresource::body);
        body.map_or(Form::Unknown, Form::Body)
    }

    /// Merges an apply configuration. In Kubernetes: `applyConfigPatcher.Patch`.
    fn apply(&self, review: &Review<'_>, form: &Form<'_>, mut configuration: Value) -> Result<Object, MutationFailure> {
        for field in ["apiVersion", "kind"] {
            if let Some(text) = self.value.get(field) {
                configuration[field] = text.clone();
            }
        }
        let schema = match form {
            Form::Kind(kind) => Ok(kind.schema()),
            // The schemas of a group and version contain only the bodies that belong to it.
            Form::Body(body) if body.gvk.group_version() == review.kind().gvk().group_version() => Ok(&body.schema),
            Form::Body(body) => Err(body.gvk.clone()),
            Form::Unknown => Err(kind_of(review)),
        };
        let of_policy = |why: &str| MutationFailure::OfPolicy(format!("error applying patch: {why}"));
        let schema = schema.map_err(|kind| {
            let GroupVersionKind { group, version, kind } = kind;
            let what = "failed to convert patch object to typed object: no corresponding type for";
            of_policy(&format!("{what} {group}/{version}, Kind={kind}"))
        })?;
        let merged = merge_configuration(TablePlace::root(schema), &self.value, &configuration);
        let merged = merged.map_err(|why| of_policy(&why))?;
        form.decode(merged).map(|decoded| decoded.object).map_err(MutationFailure::OfPolicy)
    }

    /// Performs the operations of a JSON patch; `None` if a test fails. In Kubernetes: `jsonPatcher.Patch`.
    fn perform(&self, form: &Form<'_>, operations: Vec<Map<String, Value>>) -> Result<Option<Object>, MutationFailure> {
        let patched = match JsonPatch::of(operations).apply(self.value.clone()) {
            Ok(patched) => patched,
            Err(error) if error.is_failed_test() => return Ok(None),
            Err(error) => return Err(MutationFailure::OfPolicy(format!("JSON Patch: {error}"))),
        };
        let Decoded { object, strict } = form.decode_patched(patched).map_err(MutationFailure::OfResult)?;
        if !strict.is_empty() && form.is_strict() {
            return Err(MutationFailure::OfResult(format!("strict decoding error: {}", strict.join(", "))));
        }
        Ok(Some(object))
    }
}

impl Form<'_> {
    /// Whether unknown fields are errors; custom kinds may have them.
    fn is_strict(&self) -> bool {
        match self {
            Self::Kind(kind) => kind.schema().structural().is_none(),
            Self::Body(_) => true,
            Self::Unknown => false,
        }
    }

    fn decode(&self, value: Value) -> Result<Decoded, String> {
        match self {
            Self::Kind(kind) => kind.decode_value(value),
            Self::Body(body) => decode_patched(value, &body.gvk, &body.schema),
            Self::Unknown => {
                let object = Object::from_value(value).map_err(|error| error.to_string())?;
                Ok(Decoded { object, strict: Vec::new() })
            }
        }
    }

    /// The same for a document whose kind a patch may have changed.
    fn decode_patched(&self, value: Value) -> Result<Decoded, String> {
        match self {
            Self::Kind(kind) if kind.schema().structural().is_none() => {
                let decoded = decode_patched(value, kind.gvk(), kind.schema());
                let is_of_another_kind = |why: &str| why.ends_with("unknown conversion");
                decoded.map_err(
                    |why| {
                        if is_of_another_kind(&why) { format!("failed to convert object: {why}") } else { why }
                    },
                )
            }
            other => other.decode(value),
        }
    }
}
