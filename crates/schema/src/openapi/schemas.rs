//! The schemas of built-in types.

use coracle_meta::{GroupVersion, GroupVersionKind};
use coracle_release::Release;
use serde_json::{Map, Value, json};

use super::Descriptions;
use crate::table::{
    Field, ListKind, MapKind, PatchStrategy, Presence, Shape, Special, Struct, Table, Type, TypeBody, TypeNode, TypeRef,
};

const REFERENCE: &str = "#/components/schemas/";

/// What the schemas are written from.
pub(super) struct SchemaWriter<'a> {
    table: &'a Table,
    descriptions: &'a dyn Descriptions,
    /// The group version to which kinds are limited, besides `v1`.
    own: Option<GroupVersion>,
    /// Whether the document of a group version limits them.
    names_own_version: bool,
    /// Whether elements of lists and values of maps show the zero value of their type as the default.
    elements_have_defaults: bool,
}

impl<'a> SchemaWriter<'a> {
    pub(super) fn new(release: &Release, descriptions: &'a dyn Descriptions) -> Self {
        let elements_have_defaults = !release.has("ElementsHaveNoDefaults");
        let own = None;
        let names_own_version = release.has("OptionsNameTheirVersion");
        Self { table: Table::of(release), descriptions, own, names_own_version, elements_have_defaults }
    }

    /// The same for the document of a group version: `apis/apps/v1`.
    pub(super) fn of_document(mut self, path: &str) -> Self {
        let version = path.trim_start_matches("apis/").trim_start_matches("api/");
        self.own = self.names_own_version.then(|| GroupVersion::parse(version)).flatten();
        self
    }

    /// The kinds of a type that its schema lists.
    fn kinds(&self, ty: &'a Type) -> Vec<&'a GroupVersionKind> {
        let is_listed = |kind: &&GroupVersionKind| {
            let version = kind.group_version();
            self.own.as_ref().is_none_or(|own| version == *own || version == GroupVersion::new("", "v1"))
        };
        let listed: Vec<_> = ty.kinds.iter().filter(is_listed).collect();
        if listed.is_empty() { ty.kinds.iter().collect() } else { listed }
    }
}

/// Adds the built-in types among these, and the types to which they refer.
pub(super) fn add_referenced(writer: &SchemaWriter<'_>, mut open: Vec<String>, out: &mut Map<String, Value>) {
    while let Some(name) = open.pop() {
        if out.contains_key(&name) {
            continue;
        }
        let Some(ty) = writer.table.by_name(&name) else { continue };
        let schema = of_type(writer, ty);
        references(&schema, &mut open);
        out.insert(name, schema);
    }
}

/// Finds the targets of `$ref`. A property may be called `$ref`, too: then its value is not a text.
fn references(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(REFERENCE))
            {
                out.push(name.to_owned());
            }
            fields.values().for_each(|value| references(value, out));
        }
        Value::Array(elements) => elements.iter().for_each(|value| references(value, out)),
        _ => {}
    }
}

fn of_type(writer: &SchemaWriter<'_>, ty: &Type) -> Value {
    let mut out = match &ty.body {
        TypeBody::Special(special) => of_special(*special),
        TypeBody::Struct(body) => of_struct(writer, ty, body),
    };
    out["description"] = writer.descriptions.describe(&ty.name, None).into();
    if ty.atomic {
        out["x-kubernetes-map-type"] = "atomic".into();
    }
    if let Some(unions) = &ty.unions {
        out["x-kubernetes-unions"] = unions.clone();
    }
    if !ty.kinds.is_empty() {
        let kind = |kind: &GroupVersionKind| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        out["x-kubernetes-group-version-kind"] = writer.kinds(ty).into_iter().map(kind).collect();
    }
    out
}

fn of_special(special: Special) -> Value {
    match special {
        Special::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        Special::IntOrString => json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        Special::Time | Special::MicroTime => json!({"type": "string", "format": "date-time"}),
        Special::RawExtension | Special::FieldsV1 | Special::Patch => json!({"type": "object"}),
        Special::Json | Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings => json!({}),
    }
}

fn of_struct(writer: &SchemaWriter<'_>, ty: &Type, body: &Struct) -> Value {
    let mut properties = Map::new();
    for field in &body.fields {
        let mut property = of_field(writer, field);
        if field.described {
            property["description"] = writer.descriptions.describe(&ty.name, Some(&field.name)).into();
        }
        properties.insert(field.name.clone(), with_reference_in_all_of(property));
    }
    let mut required = ty.required.clone();
    if required.is_empty() {
        required = body.fields.iter().filter(|field| field.required).map(|field| field.name.clone()).collect();
    }
    let mut out = json!({"type": "object"});
    if !properties.is_empty() {
        out["properties"] = properties.into();
    }
    if !required.is_empty() {
        out["required"] = required.into();
    }
    out
}

fn of_field(writer: &SchemaWriter<'_>, field: &Field) -> Value {
    let ty = TypeRef::new(writer.table, &field.shape);
    let mut out = of_shape(writer, ty);
    let always = field.presence == Presence::Always;
    if let Some(default) = &field.default {
        out["default"] = default.clone();
    } else if always && !matches!(ty.node(), TypeNode::List | TypeNode::Map) {
        zero(ty).into_iter().for_each(|zero| out["default"] = zero);
    }
    if !field.values.is_empty() {
        let place = ["items", "additionalProperties"].into_iter().find(|name| out.get(*name).is_some());
        let place = match place {
            Some(name) => &mut out[name],
            None => &mut out,
        };
        place["enum"] = field.values.clone().into();
    }
    match ty.list_kind() {
        Some(ListKind::Atomic { stated: true }) => out["x-kubernetes-list-type"] = "atomic".into(),
        Some(ListKind::Set) => out["x-kubernetes-list-type"] = "set".into(),
        Some(ListKind::Map { keys }) => {
            out["x-kubernetes-list-type"] = "map".into();
            out["x-kubernetes-list-map-keys"] = keys.clone().into();
        }
        Some(ListKind::Atomic { stated: false }) | None => {}
    }
    let stated = match (&field.shape, field.map_kind) {
        (Shape::Bytes, Some(_)) => {
            out["x-kubernetes-list-type"] = "atomic".into();
            None
        }
        (Shape::Map(map), _) => map.kind,
        (_, kind) => kind,
    };
    match stated {
        Some(MapKind::Atomic) => out["x-kubernetes-map-type"] = "atomic".into(),
        Some(MapKind::Granular) => out["x-kubernetes-map-type"] = "granular".into(),
        None => {}
    }
    if let Some(strategy) = strategy(&field.patch) {
        out["x-kubernetes-patch-strategy"] = strategy.into();
    }
    if let Some(key) = &field.patch.merge_key {
        out["x-kubernetes-patch-merge-key"] = key.clone().into();
    }
    out
}

fn strategy(patch: &PatchStrategy) -> Option<&'static str> {
    match patch {
        PatchStrategy { merge: true, retain_keys: true, .. } => Some("merge,retainKeys"),
        PatchStrategy { merge: true, .. } => Some("merge"),
        PatchStrategy { retain_keys: true, .. } => Some("retainKeys"),
        PatchStrategy { replace: true, .. } => Some("replace"),
        _ => None,
    }
}

fn of_shape(writer: &SchemaWriter<'_>, ty: TypeRef<'_>) -> Value {
    let of_element = |ty| of_element(writer, ty);
    match ty.node() {
        TypeNode::String => json!({"type": "string"}),
        TypeNode::Bytes => json!({"type": "string", "format": "byte"}),
        TypeNode::Bool => json!({"type": "boolean"}),
        TypeNode::Int32 => json!({"type": "integer", "format": "int32"}),
        TypeNode::Int64 => json!({"type": "integer", "format": "int64"}),
        TypeNode::Double => json!({"type": "number", "format": "double"}),
        TypeNode::Struct(_) | TypeNode::Special(_) => {
            let name = ty.named().map_or("", |named| named.name.as_str());
            json!({"$ref": format!("{REFERENCE}{name}")})
        }
        TypeNode::List => json!({"type": "array", "items": ty.element().map(of_element)}),
        TypeNode::Map => json!({"type": "object", "additionalProperties": ty.element().map(of_element)}),
        TypeNode::Any => json!({}),
    }
}

/// An element of a list or a value of a map.
fn of_element(writer: &SchemaWriter<'_>, ty: TypeRef<'_>) -> Value {
    let mut out = of_shape(writer, ty);
    if let Some(zero) = zero(ty).filter(|_| writer.elements_have_defaults) {
        out["default"] = zero;
    }
    with_reference_in_all_of(out)
}

/// The published zero value of a type that Go does not hold by a pointer.
fn zero(ty: TypeRef<'_>) -> Option<Value> {
    Some(match ty.node() {
        TypeNode::String => "".into(),
        TypeNode::Bool => false.into(),
        TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double => 0.into(),
        TypeNode::Struct(_) => json!({}),
        TypeNode::Bytes | TypeNode::Special(_) | TypeNode::List | TypeNode::Map | TypeNode::Any => return None,
    })
}

/// A `$ref` must not have siblings: with siblings, it moves into an `allOf`.
fn with_reference_in_all_of(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    if fields.len() > 1
        && let Some(reference) = fields.remove("$ref")
    {
        fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
    }
    schema
}
