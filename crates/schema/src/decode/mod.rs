//! Decodes bodies to objects, with Kubernetes' strict errors.
//!
//! ```text
//! JSON, YAML --text--+--> Raw (ordered, duplicates kept) --typed--> Object as Kubernetes prints it + strict errors
//! protobuf ----------+                         an existing tree --^
//! ```
//! The typed pass has the effect of decoding into a Go struct and encoding it again: unknown fields are dropped, zero
//! values are omitted or printed as the type defines, times and quantities get their canonical form.
//! Start at [`decode`] (a body), [`decode_value`] (the result of a patch), [`from_unstructured`] (before it, if a patch
//! was merged as a map) and [`normalize`] (before a write); [`decode_stored`] decodes values that kube-apiserver
//! stored.

mod foreign;
mod go;
mod normal;
mod retired;
mod shape;
mod size;
mod stored;
mod typed;
mod unstructured;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use coracle_meta::{GroupVersion, GroupVersionKind, Object, Status};
use serde_json::Value;

use crate::kind_schema::KindSchema;
use crate::table::Table;
use crate::text::raw::Raw;
use crate::text::{json, yaml, yaml_twice};
pub use retired::is_accepted;
pub use shape::has_shape;
pub use stored::{decode_stored, kind_of_stored};
pub use typed::decode_base64;
pub(crate) use typed::{DecodedForm, Pass};
pub use unstructured::from_unstructured;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

impl Format {
    /// All, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Protobuf];

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The media type of a stream of watch events; YAML has none.
    pub fn stream_media_type(self) -> Option<&'static str> {
        match self {
            Self::Json => Some("application/json"),
            Self::Yaml => None,
            Self::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
        }
    }
}

/// An object that was read.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The object, in the form in which Kubernetes prints it.
    pub object: Object,
    /// Unknown and duplicate fields: `unknown field "spec.foo"`. What becomes of them is the caller's
    /// (`fieldValidation`).
    pub strict: Vec<String>,
}

impl Decoded {
    /// The answer to a request that asked for strictness; `None` if nothing is wrong.
    pub fn strict_error(&self, expected: &GroupVersionKind) -> Option<Status> {
        if self.strict.is_empty() {
            return None;
        }
        let error = format!("strict decoding error: {}", self.strict.join(", "));
        let kind = GroupVersion::parse(self.object.api_version())?.kind(self.object.kind());
        Some(cannot_be_handled(&kind, expected, &error))
    }
}

/// Reads the body of a create or an update.
///
/// `expected` is the kind of the URL, which a body without `apiVersion` or `kind` is taken to be of, unless it is a custom
/// kind: of those a body has to say what it is. That the body's own kind is another one is refused where no conversion exists, else the registry's business.
///
/// Errors are those of Kubernetes: 400 with Go's words. Unlike Kubernetes: 422 for a body of more values than are read,
/// about 40,000 objects or 200,000 entries of maps.
pub fn decode(
    body: &[u8],
    format: Format,
    expected: &GroupVersionKind,
    schema: &KindSchema,
) -> Result<Decoded, Status> {
    let unrecognized = |error: &str| {
        let summary = summarize(body);
        let kind = &expected.kind;
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({summary})"
        ))
    };
    let raw = match format {
        Format::Json => {
            let syntax = |error: String| unrecognized(&format!("couldn't get version/kind; json parse error: {error}"));
            let raw = json::parse(body).map_err(syntax)?;
            type_meta_error(&raw).map_or(Ok(raw), |error| Err(syntax(error)))?
        }
        Format::Yaml => {
            let raw = yaml::parse(body).map_err(|error| unrecognized(&error))?;
            type_meta_error(&raw).map_or(Ok(raw), |error| {
                Err(unrecognized(&format!("couldn't get version/kind; json parse error: {error}")))
            })?
        }
        Format::Protobuf => {
            crate::protobuf::decode_raw(body, expected, schema).map_err(|error| unrecognized(&error))?
        }
    };
    if let Some(error) = size::too_many(&raw) {
        let name = match raw.get("metadata").and_then(|metadata| metadata.get("name")) {
            Some(Raw::String(name)) => name.as_str(),
            _ => "",
        };
        return Err(Status::invalid(expected, name, &[error]));
    }
    if schema.structural().is_some() {
        says_what_it_is(&raw, expected, || unrecognized(&missing_kind(&String::from_utf8_lossy(body))))?;
    }
    let mut decoded = decode_raw(raw, expected, schema, &unrecognized)?;
    if format == Format::Yaml {
        decoded.strict = as_go_yaml_tells(body, "", decoded.strict);
    }
    if format == Format::Json {
        decoded.object = decoded.object.with_verbatim(foreign::texts(body, schema));
    }
    Ok(decoded)
}

/// Refuses a patch or an applied configuration that makes too much of itself.
///
/// # Errors
/// 422, with the list or map that has too many elements.
pub fn check_size(patch: &Value) -> Result<(), Status> {
    match size::too_many(patch) {
        Some(error) => Err(Status::invalid(&GroupVersionKind::default(), "", &[error])),
        None => Ok(()),
    }
}

/// Reads a document of whatever kind that another program has answered with: JSON, or else YAML.
///
/// # Errors
/// Go's words: it is neither, or its version and kind cannot be read. In Kubernetes: `recognizer.NewDecoder`.
pub fn read_document(body: &[u8]) -> Result<Value, String> {
    let is_json = body.trim_ascii_start().starts_with(b"{");
    let syntax = |error: String| format!("couldn't get version/kind; json parse error: {error}");
    let raw = if is_json { json::parse(body).map_err(syntax)? } else { yaml::parse(body)? };
    match type_meta_error(&raw) {
        Some(error) => Err(syntax(error)),
        None => Ok(Pass::new(DecodedForm::Received).free(raw)),
    }
}

/// Go's complaint about a body whose `apiVersion` and `kind` cannot be read.
fn type_meta_error(raw: &Raw) -> Option<String> {
    if !matches!(raw, Raw::Object(_) | Raw::Null) {
        let ty =
            r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Some(format!("json: cannot unmarshal {} into Go value of type {ty}", raw.kind_name()));
    }
    ["apiVersion", "kind"].into_iter().find_map(|name| match raw.get(name)? {
        Raw::String(_) | Raw::Null => None,
        other => {
            Some(format!("json: cannot unmarshal {} into Go struct field .{name} of type string", other.kind_name()))
        }
    })
}

/// Go's complaint about a document that does not say its kind. In Kubernetes: `runtime.NewMissingKindErr`.
pub fn missing_kind(document: &str) -> String {
    format!("Object 'Kind' is missing in '{document}'")
}

/// Whether a custom object has a kind and a version. In Kubernetes it is read into a map, which has none of its own.
fn says_what_it_is(
    raw: &Raw,
    expected: &GroupVersionKind,
    without_kind: impl FnOnce() -> Status,
) -> Result<(), Status> {
    let is_said = |name: &str| matches!(raw.get(name), Some(Raw::String(text)) if !text.is_empty());
    if !is_said("kind") {
        return Err(without_kind());
    }
    if !is_said("apiVersion") {
        return Err(another_version("", expected));
    }
    Ok(())
}

fn another_version(found: &str, expected: &GroupVersionKind) -> Status {
    Status::bad_request(format!(
        "the API version in the data ({found}) does not match the expected API version ({})",
        expected.group_version()
    ))
}

fn decode_raw(
    mut raw: Raw,
    expected: &GroupVersionKind,
    schema: &KindSchema,
    unrecognized: &dyn Fn(&str) -> Status,
) -> Result<Decoded, Status> {
    let text = |name: &str| match raw.get(name) {
        Some(Raw::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let version = match GroupVersion::parse(&api_version) {
        _ if api_version.is_empty() => expected.group_version(),
        Some(version) => version,
        None => return Err(unrecognized(&format!("unexpected GroupVersion string: {api_version}"))),
    };
    let found = version.kind(if kind.is_empty() { expected.kind.clone() } else { kind });
    check_kind(schema.table(), &found, expected)?;
    if raw == Raw::Null {
        raw = Raw::Object(Vec::new());
    }
    let mut pass = Pass::new(DecodedForm::Received);
    let value = pass.resource(raw, schema);
    if let Some(error) = pass.error {
        return Err(cannot_be_handled(&found, expected, &error));
    }
    let mut object = Object::from_value(value.unwrap_or_else(|| Value::Object(Default::default())))
        .map_err(|error| Status::bad_request(error.to_string()))?;
    object.set_kind(&found);
    Ok(Decoded { object, strict: pass.strict })
}

/// Kinds that each group has for itself, custom ones too: clients name the group of the resource that they speak of.
/// In Kubernetes: `metav1.AddToGroupVersion`.
const IN_EVERY_GROUP: [&str; 1] = ["DeleteOptions"];

/// Whether the body's kind can be had as the expected one.
fn check_kind(table: &Arc<Table>, found: &GroupVersionKind, expected: &GroupVersionKind) -> Result<(), Status> {
    if retired::is_accepted(found, expected) {
        return Ok(());
    }
    if IN_EVERY_GROUP.contains(&expected.kind.as_str()) && found.kind != expected.kind {
        return Err(Status::bad_request(not_registered(found)));
    }
    if retired::is_former_version(found, expected) {
        return Err(another_version(&found.group_version().to_string(), expected));
    }
    match conversion_error(table, found, expected) {
        Some(error) => Err(cannot_be_handled(found, expected, &error)),
        None => Ok(()),
    }
}

/// Why one kind cannot be had as another.
fn conversion_error(table: &Arc<Table>, found: &GroupVersionKind, expected: &GroupVersionKind) -> Option<String> {
    if found == expected {
        return None;
    }
    let is_built_in = table.kind(expected).is_some();
    if found.kind == expected.kind && IN_EVERY_GROUP.contains(&found.kind.as_str()) {
        return None;
    }
    if !is_built_in || found.kind == expected.kind && table.kind(found).is_some() {
        return None;
    }
    if retired::is_former_version(found, expected) {
        return None;
    }
    let is_list = *found == GroupVersionKind::new("", "v1", "List");
    Some(if is_list || table.kind(found).is_some() || retired::is_registered(found) {
        format!(
            "converting ({}.{}) to ({}.{}): unknown conversion",
            found.version,
            found.kind,
            internal_package(&expected.group),
            expected.kind
        )
    } else {
        not_registered(found)
    })
}

fn not_registered(kind: &GroupVersionKind) -> String {
    format!(
        "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
        kind.kind,
        kind.group_version()
    )
}

/// The Go package of a group's internal version.
fn internal_package(group: &str) -> &str {
    match group {
        "" => "core",
        "rbac.authorization.k8s.io" => "rbac",
        group => group.split('.').next().unwrap_or(group),
    }
}

/// A document that a JSON or merge patch has made, as an object of a built-in kind: an error in Go's words.
///
/// In Kubernetes the document goes through the decoder of bodies: one that says that it is of another kind is read as
/// that kind, which cannot be had as the expected one, and one without a version is taken for the internal type, none
/// of whose fields have names in JSON.
pub fn decode_patched(document: Value, expected: &GroupVersionKind, schema: &KindSchema) -> Result<Decoded, String> {
    if let Some(error) = type_meta_error(&outline(&document)) {
        return Err(format!("couldn't get version/kind; json parse error: {error}"));
    }
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() {
        return Ok(nothing_known(&document, expected));
    }
    let version = GroupVersion::parse(api_version);
    let version = version.ok_or_else(|| format!("unexpected GroupVersion string: {api_version}"))?;
    let found = version.kind(if kind.is_empty() { expected.kind.as_str() } else { kind });
    if let Some(error) = conversion_error(schema.table(), &found, expected) {
        if let Some(other) = schema.table().kind(&found) {
            typed(document, &other, DecodedForm::Received)?;
        }
        return Err(error);
    }
    if retired::is_former_version(&found, expected) {
        former_scale_error(&found, &document).map_or(Ok(()), Err)?;
    }
    let mut decoded = typed(document, schema, DecodedForm::Received)?;
    decoded.object.set_kind(expected);
    Ok(decoded)
}

/// The error of a Scale in a retired version, in which its selector was a map of labels.
fn former_scale_error(found: &GroupVersionKind, document: &Value) -> Option<String> {
    let selector = document.pointer("/status/selector").filter(|selector| !selector.is_null() && !selector.is_object());
    let type_name = outline(selector.filter(|_| found.kind == "Scale")?).kind_name();
    let field = "ScaleStatus.status.selector";
    Some(format!("json: cannot unmarshal {type_name} into Go struct field {field} of type map[string]string"))
}

/// A document as far as its version and kind are asked for.
fn outline(document: &Value) -> Raw {
    let fields = ["apiVersion", "kind"].into_iter();
    match document {
        Value::Null => Raw::Null,
        Value::Bool(value) => Raw::Bool(*value),
        Value::Number(number) => Raw::Number(number.to_string()),
        Value::String(text) => Raw::String(text.clone()),
        Value::Array(_) => Raw::List(Vec::new()),
        Value::Object(own) => {
            Raw::Object(fields.filter_map(|name| Some((name.to_owned(), outline(own.get(name)?)))).collect())
        }
    }
}

/// An object of which no field was recognized.
fn nothing_known(document: &Value, expected: &GroupVersionKind) -> Decoded {
    let mut object = Object::default();
    object.set_kind(expected);
    let fields = document.as_object().into_iter().flatten().map(|(name, _)| name);
    let unknown = fields.filter(|name| !matches!(name.as_str(), "apiVersion" | "kind"));
    Decoded { object, strict: unknown.map(|name| format!("unknown field {name:?}")).collect() }
}

/// A document that a strategic merge patch has made and [`from_unstructured`] has read, as an object of a kind. What it
/// says of its kind counts for nothing.
pub fn decode_merged(document: Value, expected: &GroupVersionKind, schema: &KindSchema) -> Result<Decoded, String> {
    let mut decoded = typed(document, schema, DecodedForm::Received)?;
    decoded.object.set_kind(expected);
    Ok(decoded)
}

/// A document as an object of a kind: checked and pruned like a body; an error in Go's words.
///
/// `apiVersion` and `kind` stay as they are.
pub fn decode_value(document: Value, schema: &KindSchema) -> Result<Decoded, String> {
    typed(document, schema, DecodedForm::Received)
}

/// An object in the form in which Kubernetes stores and prints it, before it is written: what defaults and admission
/// have left is put into canonical form. Doing it twice changes nothing.
pub fn normalize(object: Object, schema: &KindSchema) -> Result<Decoded, String> {
    normalize_change(object, None, schema)
}

/// As [`normalize`], for a change of `known`, an object in this form: parts that equal those of it are not looked at
/// again.
pub fn normalize_change(object: Object, known: Option<&Object>, schema: &KindSchema) -> Result<Decoded, String> {
    let known = known.map(Object::as_value);
    if schema.structural().is_none() && normal::is_normal(object.as_value(), known, schema.root()) {
        return Ok(Decoded { object, strict: Vec::new() });
    }
    let verbatim = object.verbatim().clone();
    let mut normal = typed(object.into_value(), schema, DecodedForm::Stored)?;
    normal.object = normal.object.with_verbatim(verbatim);
    Ok(normal)
}

fn typed(document: Value, schema: &KindSchema, form: DecodedForm) -> Result<Decoded, String> {
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut pass = Pass::new(form);
    let value = pass.resource(document, schema);
    if let Some(error) = pass.error {
        return Err(error);
    }
    let mut object = Object::from_value(value.unwrap_or_default()).map_err(|error| error.to_string())?;
    api_version.into_iter().for_each(|text| object.set("apiVersion", text));
    kind.into_iter().for_each(|text| object.set("kind", text));
    Ok(Decoded { object, strict: pass.strict })
}

/// A document of no particular kind, such as a patch, with the fields that are there twice.
///
/// Errors are Go's words. Protobuf has no documents of no kind.
pub fn parse(body: &[u8], format: Format) -> Result<(Value, Vec<String>), String> {
    let raw = match format {
        Format::Json => json::parse(body)?,
        Format::Yaml => yaml::parse(body).map_err(|error| format!("error converting YAML to JSON: {error}"))?,
        Format::Protobuf => return Err("protobuf is no format for patches".to_owned()),
    };
    let mut pass = Pass::new(DecodedForm::Received);
    let value = pass.free(raw);
    Ok(match format {
        Format::Yaml => (value, as_go_yaml_tells(body, "error converting YAML to JSON: ", pass.strict)),
        Format::Json | Format::Protobuf => (value, pass.strict),
    })
}

/// The strict errors of a YAML document: duplicate fields are reported at once, before all other errors.
fn as_go_yaml_tells(body: &[u8], prefix: &str, strict: Vec<String>) -> Vec<String> {
    let (twice, others): (Vec<_>, Vec<_>) = strict.into_iter().partition(|text| text.starts_with(DUPLICATE));
    let twice_text = if twice.is_empty() { None } else { yaml_twice::keys_that_are_there_twice(body) };
    twice_text.map(|twice_text| format!("{prefix}{twice_text}")).into_iter().chain(others).collect()
}

/// How every objection to a field that is there twice begins.
const DUPLICATE: &str = "duplicate field ";

fn cannot_be_handled(found: &GroupVersionKind, expected: &GroupVersionKind, error: &str) -> Status {
    Status::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {error}",
        found.kind, found.version, expected.kind
    ))
}

/// The first bytes of a body, as Kubernetes puts them into its message.
fn summarize(body: &[u8]) -> String {
    const MOST: usize = 30;
    let start = &body[..body.len().min(MOST)];
    let more = if body.len() > MOST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => format!("{}{more}", start.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}
