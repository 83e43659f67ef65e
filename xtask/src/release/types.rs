//! Writes the text of all types of a version.
//!
//! ```text
//! published documents (names, shapes, required, merge keys) -+
//! Go structs (tags, pointers, what is omitted, order) -------+--> types.txt
//! generated OpenAPI (values of enumerations) ----------------+
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::definitions::Definitions;
use super::enums::Enums;
use super::go_fields::{FlatField, fields_of, scalar_name, underlying};
use super::go_types::GoExpression;
use super::packages::{Package, Sources};
use super::resources::written_kind;
use crate::failure::Failure;

/// What the types are made from.
pub(crate) struct TypeSources {
    pub(crate) packages: Vec<Package>,
    pub(crate) go: Sources,
    pub(crate) definitions: Definitions,
    pub(crate) enums: Enums,
}

/// The types that no document has: the options of subresources, and reduced forms of objects.
const UNPUBLISHED: [(&str, &[(&str, &str)]); 2] = [
    (
        "k8s.io/api/core/v1",
        &[
            ("NodeProxyOptions", "v1"),
            ("PodAttachOptions", "v1"),
            ("PodExecOptions", "v1"),
            ("PodLogOptions", "v1"),
            ("PodPortForwardOptions", "v1"),
            ("PodProxyOptions", "v1"),
            ("ServiceProxyOptions", "v1"),
        ],
    ),
    (
        "k8s.io/apimachinery/pkg/apis/meta/v1",
        &[("PartialObjectMetadata", "meta.k8s.io/v1"), ("PartialObjectMetadataList", "meta.k8s.io/v1")],
    ),
];

/// The text of all served types.
pub(crate) fn write(sources: &TypeSources) -> Result<String, Failure> {
    let mut out = String::new();
    let served = served(sources);
    let mut packages: Vec<&Package> = sources.packages.iter().collect();
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    for package in packages {
        let prefix = format!("{}.", package.name);
        let mut types = String::new();
        for (name, definition) in &sources.definitions {
            let ty = name.strip_prefix(&prefix).filter(|ty| !ty.contains('.') && served.contains(name));
            if let Some(ty) = ty {
                write_type(&mut types, sources, package, ty, definition)?;
            }
        }
        let unpublished = UNPUBLISHED.iter().filter(|(path, _)| *path == package.path).flat_map(|(_, types)| *types);
        for (ty, version) in unpublished {
            write_unpublished(&mut types, sources, package, ty, version)?;
        }
        if !types.is_empty() {
            write!(out, "package {}\n{types}", package.name)?;
        }
    }
    Ok(out)
}

/// The types of stable packages, and those to which they refer.
fn served(sources: &TypeSources) -> BTreeSet<&String> {
    let is_stable = |name: &str| {
        let package = name.rsplit_once('.').map_or("", |(package, _)| package);
        sources.packages.iter().any(|own| own.is_stable && own.name == package)
    };
    let mut served = BTreeSet::new();
    let mut open: Vec<&String> = sources.definitions.keys().filter(|name| is_stable(name)).collect();
    while let Some(name) = open.pop() {
        if served.insert(name) {
            let text = Value::Object(sources.definitions[name].clone()).to_string();
            let names = text.split("\"#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next());
            open.extend(names.filter_map(|name| sources.definitions.get_key_value(name)).map(|(name, _)| name));
        }
    }
    served
}

fn write_type(
    out: &mut String,
    sources: &TypeSources,
    package: &Package,
    ty: &str,
    definition: &Map<String, Value>,
) -> Result<(), Failure> {
    write!(out, "type {ty}")?;
    if let Some(special) = special(&format!("{}.{ty}", package.name)) {
        writeln!(out, " is={special}")?;
        return Ok(());
    }
    if definition.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic") {
        out.push_str(" atomic");
    }
    let kinds = definition.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
    let kinds: Vec<String> = kinds.into_iter().flatten().map(kind).collect();
    if !kinds.is_empty() {
        write!(out, " kinds={}", kinds.join(","))?;
    }
    let required: Vec<_> = list(definition, "required").collect();
    if !required.is_sorted() {
        write!(out, " required={}", required.join(","))?;
    }
    if let Some(unions) = definition.get("x-kubernetes-unions") {
        write!(out, " unions={unions}")?;
    }
    out.push('\n');
    let none = Map::new();
    let properties = definition.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let fields = fields_of(&sources.go, &package.path, ty)
        .ok_or_else(|| format!("{} does not declare the struct {ty}", package.path))?;
    for field in kind_first(&fields) {
        let property = properties.get(&field.name).and_then(Value::as_object);
        let property = property.ok_or_else(|| format!("no document has {ty}.{}", field.name))?;
        write_field(out, sources, package, ty, field, property, required.contains(&field.name.as_str()))?;
    }
    match properties.keys().find(|name| fields.iter().all(|field| field.name != **name)) {
        Some(name) => Err(format!("{}.{ty} has no field {name}", package.path).into()),
        None => Ok(()),
    }
}

/// The kind comes before the version in what a server writes.
fn kind_first(fields: &[FlatField]) -> impl Iterator<Item = &FlatField> {
    let place = |name: &str| fields.iter().find(move |field| field.name == name && field.tags.is_none());
    let (kind, version) = (place("kind"), place("apiVersion"));
    let is_of_head =
        |field: &&FlatField| field.tags.is_some() || !["kind", "apiVersion"].contains(&field.name.as_str());
    kind.into_iter().chain(version).chain(fields.iter().filter(is_of_head))
}

fn write_unpublished(
    out: &mut String,
    sources: &TypeSources,
    package: &Package,
    ty: &str,
    version: &str,
) -> Result<(), Failure> {
    writeln!(out, "type {ty} kinds={version}/{ty}")?;
    let fields = fields_of(&sources.go, &package.path, ty).ok_or_else(|| format!("{ty} is not declared"))?;
    let is_written = |field: &&FlatField| ty.starts_with("Partial") || field.tags.is_some();
    for field in kind_first(&fields).filter(is_written) {
        write!(out, " {} {} {}", field.name, go_shape(sources, package, &field.ty)?, tags(field))?;
        write_presence(out, sources, field);
        out.push('\n');
    }
    Ok(())
}

/// The types whose form in JSON is not that of their struct.
fn special(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once(".pkg.").map_or(name, |(_, rest)| rest) {
        "api.resource.Quantity" => "quantity",
        "util.intstr.IntOrString" => "int-or-string",
        "apis.meta.v1.Time" => "time",
        "apis.meta.v1.MicroTime" => "micro-time",
        "apis.meta.v1.FieldsV1" => "fields",
        "apis.meta.v1.Patch" => "patch",
        "runtime.RawExtension" => "raw-extension",
        "apis.apiextensions.v1.JSON" => "json",
        "apis.apiextensions.v1.JSONSchemaPropsOrArray" => "schema-or-array",
        "apis.apiextensions.v1.JSONSchemaPropsOrBool" => "schema-or-bool",
        "apis.apiextensions.v1.JSONSchemaPropsOrStringArray" => "schema-or-strings",
        _ => return None,
    })
}

fn kind(value: &Value) -> String {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    written_kind(text("group"), text("version"), text("kind"))
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn tags(field: &FlatField) -> String {
    let tags = field.tags.as_ref().map(|tags| tags.iter().map(u32::to_string).collect::<Vec<_>>().join("."));
    tags.unwrap_or_else(|| "-".to_owned())
}

fn write_field(
    out: &mut String,
    sources: &TypeSources,
    package: &Package,
    ty: &str,
    field: &FlatField,
    property: &Map<String, Value>,
    required: bool,
) -> Result<(), Failure> {
    let name = &field.name;
    write!(out, " {name} {} {}", shape(property, package)?, tags(field))?;
    if required {
        out.push_str(" required");
    }
    write_presence(out, sources, field);
    if let Some(default) = published_default(field, property) {
        write!(out, " default={default}")?;
    }
    if let Some(values) = sources.enums.get(&(format!("{}.{ty}", package.name), name.clone())) {
        write!(out, " values={}", values.join("|").replace(' ', "~"))?;
    }
    if let Some(scalar) = scalar_name(&sources.go, &field.ty) {
        write!(out, " go={scalar}")?;
    }
    let text = |name: &str| property.get(name).and_then(Value::as_str);
    match text("x-kubernetes-list-type") {
        Some("map") => {
            let keys: Vec<_> = list(property, "x-kubernetes-list-map-keys").collect();
            write!(out, " list=map:{}", keys.join(","))?;
        }
        Some(kind) => write!(out, " list={kind}")?,
        None => {}
    }
    let others = [("map", "x-kubernetes-map-type"), ("patch", "x-kubernetes-patch-strategy")];
    for (word, extension) in others.into_iter().chain([("key", "x-kubernetes-patch-merge-key")]) {
        if let Some(value) = text(extension) {
            write!(out, " {word}={value}")?;
        }
    }
    if !property.contains_key("description") {
        out.push_str(" undescribed");
    }
    out.push('\n');
    Ok(())
}

/// What Go prints where nothing was given.
fn write_presence(out: &mut String, sources: &TypeSources, field: &FlatField) {
    let ty = underlying(&sources.go, &field.ty);
    let is_scalar = matches!(&ty, Some(GoExpression::Named(path, _)) if path.is_empty());
    let is_struct = matches!(&ty, Some(GoExpression::Named(path, _)) if !path.is_empty());
    // Go prints null for bytes that are not there, and no server stores them so.
    let bytes = GoExpression::List(Box::new(GoExpression::Named(String::new(), "byte".to_owned())));
    let is_bytes = ty == Some(bytes);
    if field.is_pointer {
        if !field.omits_empty {
            out.push_str(" or-null");
        } else if is_scalar {
            out.push_str(" given");
        }
    } else if !is_bytes && !field.omits_zero && (!field.omits_empty || is_struct) {
        out.push_str(" always");
    }
}

/// The default of a document, without that which the generator writes for every field that is always there.
fn published_default(field: &FlatField, property: &Map<String, Value>) -> Option<String> {
    let default = property.get("default")?;
    let is_zero = [Value::from(""), Value::from(0), Value::from(false), Value::from(0.0)].contains(default);
    let is_implied = is_zero && !field.is_pointer && !field.omits_empty;
    (!is_implied && !default.is_object()).then(|| default.to_string().replace(' ', "~"))
}

/// The shape in the table's words.
fn shape(property: &Map<String, Value>, package: &Package) -> Result<String, Failure> {
    if let Some(reference) = reference(property) {
        return Ok(local(&reference, package));
    }
    let inner = |name: &str| -> Result<String, Failure> {
        shape(property.get(name).and_then(Value::as_object).ok_or("a list or map of nothing")?, package)
    };
    let text = |name: &str| property.get(name).and_then(Value::as_str);
    Ok(match (text("type"), text("format")) {
        (Some("string"), Some("byte")) => "bytes".to_owned(),
        (Some("string"), _) => "string".to_owned(),
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("integer"), Some(format @ ("int32" | "int64"))) => format.to_owned(),
        (Some("number"), _) => "double".to_owned(),
        (Some("array"), _) => format!("[]{}", inner("items")?),
        (Some("object"), _) => format!("{{}}{}", inner("additionalProperties")?),
        other => return Err(format!("a property of {other:?}").into()),
    })
}

/// The name within its package, or the whole one.
fn local(reference: &str, package: &Package) -> String {
    let local = reference.strip_prefix(&package.name).and_then(|rest| rest.strip_prefix('.'));
    local.filter(|name| !name.contains('.')).unwrap_or(reference).to_owned()
}

/// The type that `$ref` names, alone or as the one branch of `allOf`.
fn reference(property: &Map<String, Value>) -> Option<String> {
    let direct = property.get("$ref").and_then(Value::as_str);
    let branch = || property.get("allOf")?.as_array()?.iter().find_map(|branch| branch.get("$ref")?.as_str());
    direct.or_else(branch)?.rsplit('/').next().map(str::to_owned)
}

/// The shape of a type that no document has.
fn go_shape(sources: &TypeSources, package: &Package, ty: &GoExpression) -> Result<String, Failure> {
    Ok(match underlying(&sources.go, ty).ok_or("an unknown type")? {
        GoExpression::Pointer(inner) => go_shape(sources, package, &inner)?,
        GoExpression::List(inner) => format!("[]{}", go_shape(sources, package, &inner)?),
        GoExpression::Map(inner) => format!("{{}}{}", go_shape(sources, package, &inner)?),
        GoExpression::Named(path, name) if path.is_empty() => name,
        GoExpression::Named(path, name) => {
            let of = sources.packages.iter().find(|other| other.path == path).ok_or("an unknown package")?;
            local(&format!("{}.{name}", of.name), package)
        }
    })
}
