//! Decodes bodies of patches, and patched documents, to objects of a kind.

use coracle_meta::{FieldError, GroupVersionKind, Object, Status};
use coracle_schema::KindSchema;
use coracle_schema::apply::managed_fields;
use coracle_schema::decode::{self, Decoded, Format, from_unstructured};
use serde_json::Value;

use crate::{FieldValidation, Kind, MemoryForm, PatchKind, Request};

/// The errors of strict decoding: unknown fields and duplicate fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objections(Vec<String>);

impl Objections {
    pub(crate) fn extend(&mut self, more: impl IntoIterator<Item = String>) {
        self.0.extend(more);
    }

    /// Reports the strict errors of a patch as warnings, a refusal, or not at all.
    fn report_patch(self, request: &Request, patched: impl FnOnce() -> String) -> Result<(), Status> {
        match request.field_validation {
            _ if self.0.is_empty() => Ok(()),
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                self.0.into_iter().for_each(|text| request.warnings.add(text));
                Ok(())
            }
            FieldValidation::Strict => {
                Err(invalid_patch(&patched(), &format!("strict decoding error: {}", self.0.join(", "))))
            }
        }
    }

    /// The same for an applied configuration.
    pub(crate) fn report_apply(self, request: &Request) -> Result<(), Status> {
        match request.field_validation {
            _ if self.0.is_empty() => Ok(()),
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                self.0.into_iter().for_each(|text| request.warnings.add(text));
                Ok(())
            }
            FieldValidation::Strict => {
                Err(Status::bad_request(format!("error strict decoding YAML: {}", self.0.join(", "))))
            }
        }
    }
}

/// 422 for the field `patch`.
pub(crate) fn invalid_patch(patched: &str, why: &str) -> Status {
    let error = FieldError::invalid("patch", patched, why);
    Status::invalid(&GroupVersionKind::default(), "", &[error])
}

/// Parses the body of a JSON, merge or strategic patch.
pub(crate) fn patch_json(body: &[u8], kind: PatchKind) -> Result<(Value, Objections), Status> {
    let (value, twice) = decode::parse(body, Format::Json).map_err(|error| match kind {
        PatchKind::Strategic => Status::bad_request(error),
        _ => Status::bad_request(format!("error decoding patch: {error}")),
    })?;
    decode::check_size(&value)?;
    let prefix = if kind == PatchKind::Json { "json patch " } else { "" };
    Ok((value, Objections(twice.into_iter().map(|finding| format!("{prefix}{finding}")).collect())))
}

/// Parses the body of an apply.
pub(crate) fn yaml(body: &[u8]) -> Result<(Value, Objections), Status> {
    let (value, twice) = decode::parse(body, Format::Yaml)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    decode::check_size(&value)?;
    let type_name = match &value {
        Value::Object(_) => return Ok((value, Objections(twice))),
        Value::Null => return Ok((Value::Object(Default::default()), Objections(twice))),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(Status::bad_request(format!(
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {type_name} into Go value of type map[string]interface {{}}"
    )))
}

/// A patched document, and its text for messages, which is computed only for an error.
pub(crate) struct Patched<'a> {
    pub(crate) value: Value,
    pub(crate) quote: &'a dyn Fn() -> String,
    pub(crate) made_by: MadeBy,
}

/// How a document was created, which determines how it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    /// As JSON, by a JSON or a merge patch.
    Patch,
    /// As maps, by a strategic merge.
    Merge,
}

impl MadeBy {
    fn decode(self, value: Value, kind: &GroupVersionKind, schema: &KindSchema) -> Result<Decoded, String> {
        match self {
            Self::Patch => decode::decode_patched(value, kind, schema),
            Self::Merge => decode::decode_merged(value, kind, schema),
        }
    }
}

/// Decodes a patched document as an object of a kind; strict errors of the patch are reported, too.
pub(crate) fn patched(
    kind: &Kind,
    patched: Patched<'_>,
    objections: Objections,
    request: &Request,
) -> Result<Object, Status> {
    let Patched { value, quote, made_by } = patched;
    let decoded = match kind.offers().form {
        MemoryForm::Structs => made_by.decode(value, kind.gvk(), kind.schema()),
        MemoryForm::Maps if value.get("kind").is_none_or(Value::is_null) => Err(decode::missing_kind(&quote())),
        MemoryForm::Maps => kind.decode_value(value),
    };
    accepted(decoded, quote, objections, request)
}

/// Decodes the result of an apply.
pub(crate) fn applied(kind: &Kind, value: Value) -> Result<Object, Status> {
    let what = managed_fields::object_text(&value);
    let read = from_unstructured(value, kind.schema()).map_err(|why| {
        let GroupVersionKind { group, version, kind } = kind.gvk();
        let message = format!(
            "failed to convert new object ({what}) to proper version: \
             unable to convert unstructured object to {group}/{version}, Kind={kind}: {why}"
        );
        Status::failure(500, "", message)
    })?;
    Ok(kind.decode_value(read).map_err(Status::internal)?.object)
}

/// Decodes a patched document of a kind without its own resource.
pub(crate) fn with_schema(
    kind: &GroupVersionKind,
    schema: &KindSchema,
    patched: Patched<'_>,
    objections: Objections,
    request: &Request,
) -> Result<Object, Status> {
    let Patched { value, quote, made_by } = patched;
    accepted(made_by.decode(value, kind, schema), quote, objections, request)
}

/// The decoded object, unless there are errors of the document or of the patch.
fn accepted(
    decoded: Result<Decoded, String>,
    quote: &dyn Fn() -> String,
    mut objections: Objections,
    request: &Request,
) -> Result<Object, Status> {
    let decoded = decoded.map_err(|error| invalid_patch(&quote(), &error))?;
    objections.extend(decoded.strict);
    objections.report_patch(request, quote)?;
    Ok(decoded.object)
}
