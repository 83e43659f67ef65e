//! Parses the text form of a table.
//!
//! ```text
//! package io.k8s.api.core.v1
//! type Service kinds=v1/Service
//!  spec ServiceSpec 2 always
//! type ServiceSpec
//!  ports []ServicePort 1 list=map:port,protocol patch=merge key=port
//!  selector {}string 2 map=atomic
//! ```
//! A field is `name shape tags attributes…`. Shapes: a scalar, a type of this package, a full name, `[]` for a list,
//! `{}` for a map. Fields have the order of the Go struct. Tags: protobuf's, with a dot if JSON inlines an embedded
//! struct, `-` for none.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource, Scope};

use super::{
    Field, ListKind, ListShape, Map, MapKind, PatchStrategy, Presence, ResourceRow, Shape, Special, Struct,
    SubresourceRow, Table, Trait, Type, TypeBody, TypeId,
};

/// An invalid line of a table's text.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub why: String,
}

type Parsed<T> = Result<T, String>;

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

impl Table {
    /// Parses types and resources.
    pub fn from_text(types: &str, resources: &str) -> Result<Self, TextError> {
        let mut table = Self::default();
        let located = |line: usize| move |why: String| TextError { line, why };
        let blocks = blocks(types)?;
        for (line, block) in &blocks {
            table.add(read_type(block.header, block.package).map_err(located(*line))?);
        }
        for (line, block) in &blocks {
            let read = block.read(&TypeNames(&table.shapes));
            let ty = read.map_err(|(below, why)| located(line + below)(why))?;
            table.add(ty);
        }
        table.read_resources(resources)?;
        Ok(table)
    }

    /// Adds resources.
    pub(super) fn read_resources(&mut self, resources: &str) -> Result<(), TextError> {
        for (at, line) in resources.lines().enumerate() {
            read_resource_line(line, self).map_err(|why| TextError { line: at + 1, why })?;
        }
        Ok(())
    }
}

/// The types of a text, with the lines of their headers, from 1.
fn blocks(types: &str) -> Result<Vec<(usize, TypeLines<'_>)>, TextError> {
    let mut blocks: Vec<(usize, TypeLines<'_>)> = Vec::new();
    let (mut package, mut rest) = ("", types);
    for (at, line) in types.lines().enumerate() {
        let after = rest.split_once('\n').map_or("", |(_, after)| after);
        if let Some(name) = line.strip_prefix("package ") {
            package = name;
        } else if let Some(header) = line.strip_prefix("type ") {
            blocks.push((at + 1, TypeLines { package, header, fields: after }));
        } else if line.starts_with(' ') && blocks.is_empty() {
            return Err(TextError { line: at + 1, why: "a field before any type".to_owned() });
        }
        rest = after;
    }
    Ok(blocks)
}

/// The text of a type.
#[derive(Clone, Copy)]
pub(super) struct TypeLines<'t> {
    pub(super) package: &'t str,
    pub(super) header: &'t str,
    /// Begins with the lines of its fields.
    fields: &'t str,
}

impl<'t> TypeLines<'t> {
    /// A type from its header, and the lines of its fields below it.
    pub(super) fn of(package: &'t str, text: &'t str) -> Self {
        let (header, fields) = text.split_once('\n').unwrap_or((text, ""));
        Self { package, header, fields }
    }

    /// # Errors
    /// What is wrong, and how many lines below the header.
    pub(super) fn read(&self, names: &TypeNames<'_>) -> Result<Type, (usize, String)> {
        let mut ty = read_type(self.header, self.package).map_err(|why| (0, why))?;
        let fields = self.fields.lines().map_while(|line| line.strip_prefix(' '));
        for (place, line) in fields.enumerate() {
            let field = read_field(line, self.package, names).map_err(|why| (place + 1, why))?;
            match &mut ty.body {
                TypeBody::Struct(body) => body.fields.push(Field { place, ..field }),
                TypeBody::Special(_) => return Err((place + 1, "a special type has no fields".to_owned())),
            }
        }
        if let TypeBody::Struct(body) = &mut ty.body {
            body.fields.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(ty)
    }
}

/// The shapes of the types of a table, by name.
pub(super) struct TypeNames<'t>(pub(super) &'t BTreeMap<String, Shape>);

impl TypeNames<'_> {
    fn id(&self, package: &str, name: &str) -> Option<TypeId> {
        match self.0.get(&format!("{package}.{name}"))? {
            Shape::Named(id) => Some(*id),
            _ => None,
        }
    }
}

fn read_type(header: &str, package: &str) -> Parsed<Type> {
    let mut words = header.split(' ');
    let name = format!("{package}.{}", words.next().unwrap_or_default());
    let body = TypeBody::Struct(Struct::default());
    let mut ty = Type { name, body, kinds: Vec::new(), atomic: false, unions: None, required: Vec::new() };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("atomic", _) => ty.atomic = true,
            ("is", special) => ty.body = TypeBody::Special(read_special(special)?),
            ("kinds", kinds) => ty.kinds = read_kinds(kinds)?,
            ("required", fields) => ty.required = fields.split(',').map(str::to_owned).collect(),
            ("unions", json) => ty.unions = Some(serde_json::from_str(json).map_err(|error| error.to_string())?),
            _ => return Err(format!("unknown attribute of a type: {word}")),
        }
    }
    Ok(ty)
}

fn read_special(word: &str) -> Parsed<Special> {
    Ok(match word {
        "quantity" => Special::Quantity,
        "int-or-string" => Special::IntOrString,
        "time" => Special::Time,
        "micro-time" => Special::MicroTime,
        "raw-extension" => Special::RawExtension,
        "fields" => Special::FieldsV1,
        "json" => Special::Json,
        "patch" => Special::Patch,
        "schema-or-array" => Special::SchemaOrArray,
        "schema-or-bool" => Special::SchemaOrBool,
        "schema-or-strings" => Special::SchemaOrStrings,
        _ => return Err(format!("unknown special type {word}")),
    })
}

/// `v1/Pod,apps/v1/Deployment`
pub(super) fn read_kinds(text: &str) -> Parsed<Vec<GroupVersionKind>> {
    text.split(',').map(read_kind).collect()
}

fn read_kind(text: &str) -> Parsed<GroupVersionKind> {
    let (version, kind) = text.rsplit_once('/').ok_or_else(|| format!("not a kind: {text}"))?;
    let version = GroupVersion::parse(version).ok_or_else(|| format!("not a group version: {version}"))?;
    Ok(version.kind(kind))
}

fn read_field(line: &str, package: &str, names: &TypeNames<'_>) -> Parsed<Field> {
    let mut words = line.split(' ');
    let mut next = || words.next().ok_or("a field needs a name, a shape and tags");
    let (name, shape, tags) = (next()?.to_owned(), next()?, next()?);
    let shape = read_shape(shape, package, names)?;
    let tags = match tags {
        "-" => Vec::new(),
        tags => {
            tags.split('.').map(|tag| tag.parse().map_err(|_| format!("not tags: {tags}"))).collect::<Parsed<_>>()?
        }
    };
    let (presence, patch) = (Presence::NonZero, PatchStrategy::default());
    let (required, described, default, values, map_kind) = (false, true, None, Vec::new(), None);
    let (go_type, place) = (None, 0);
    let mut field =
        Field { name, shape, required, described, presence, default, values, go_type, patch, map_kind, tags, place };
    for word in words {
        read_field_attribute(word, &mut field)?;
    }
    Ok(field)
}

fn read_field_attribute(word: &str, field: &mut Field) -> Parsed<()> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("required", _) => field.required = true,
        ("undescribed", _) => field.described = false,
        ("given", _) => field.presence = Presence::Given,
        ("always", _) => field.presence = Presence::Always,
        ("or-null", _) => field.presence = Presence::OrNull,
        ("default", json) => field.default = Some(serde_json::from_str(json).map_err(|error| error.to_string())?),
        ("values", values) => field.values = values.split('|').map(|value| value.replace('~', " ")).collect(),
        ("go", name) => field.go_type = Some(name.to_owned()),
        ("list", kind) => match &mut field.shape {
            Shape::List(list) => list.kind = read_list_kind(kind)?,
            Shape::Bytes => field.map_kind = Some(MapKind::Atomic),
            _ => return Err("only a list has a list type".to_owned()),
        },
        ("map", kind) => {
            let kind = if kind == "atomic" { MapKind::Atomic } else { MapKind::Granular };
            match &mut field.shape {
                Shape::Map(map) => map.kind = Some(kind),
                _ => field.map_kind = Some(kind),
            }
        }
        ("patch", strategies) => {
            field.patch.merge = strategies.split(',').any(|strategy| strategy == "merge");
            field.patch.replace = strategies == "replace";
            field.patch.retain_keys = strategies.split(',').any(|strategy| strategy == "retainKeys");
        }
        ("key", key) => field.patch.merge_key = Some(key.to_owned()),
        _ => return Err(format!("unknown attribute of a field: {word}")),
    }
    Ok(())
}

fn read_list_kind(text: &str) -> Parsed<ListKind> {
    Ok(match text.split_once(':') {
        Some(("map", keys)) => ListKind::Map { keys: keys.split(',').map(str::to_owned).collect() },
        None if text == "set" => ListKind::Set,
        None if text == "atomic" => ListKind::Atomic { stated: true },
        _ => return Err(format!("unknown list type {text}")),
    })
}

fn read_shape(text: &str, package: &str, names: &TypeNames<'_>) -> Parsed<Shape> {
    Ok(match text {
        "string" => Shape::String,
        "bool" => Shape::Bool,
        "int32" => Shape::Int32,
        "int64" => Shape::Int64,
        "double" => Shape::Double,
        "bytes" => Shape::Bytes,
        "any" => Shape::Any,
        _ => {
            if let Some(element) = text.strip_prefix("[]") {
                let element = read_shape(element, package, names)?;
                return Ok(Shape::List(Box::new(ListShape { element, kind: ListKind::Atomic { stated: false } })));
            }
            if let Some(value) = text.strip_prefix("{}") {
                return Ok(Shape::Map(Box::new(Map { value: read_shape(value, package, names)?, kind: None })));
            }
            let (package, name) = text.rsplit_once('.').unwrap_or((package, text));
            Shape::Named(names.id(package, name).ok_or_else(|| format!("unknown type {text}"))?)
        }
    })
}

/// `resource v1 pods Pod namespaced …` or, below it, ` status …`; `#` starts a comment.
fn read_resource_line(line: &str, table: &mut Table) -> Parsed<()> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    if let Some(subresource) = line.strip_prefix(' ') {
        let row = table.resources.last_mut().ok_or("a subresource before any resource")?;
        let subresource = read_subresource(subresource, row)?;
        row.subresources.push(subresource);
        return Ok(());
    }
    let row = read_resource(line)?;
    table.resources.push(row);
    Ok(())
}

fn read_resource(line: &str) -> Parsed<ResourceRow> {
    let words: Vec<&str> = line.split(' ').collect();
    let [version, plural, kind, scope, rest @ ..] = words.as_slice() else {
        return Err("a resource needs a group version, a plural, a kind and a scope".to_owned());
    };
    let version = GroupVersion::parse(version).ok_or_else(|| format!("not a group version: {version}"))?;
    let stored_as = GroupVersionResource::new(version.group.clone(), version.version.clone(), *plural);
    let scope = match *scope {
        "namespaced" => Scope::Namespaced,
        "cluster" => Scope::Cluster,
        _ => return Err(format!("unknown scope {scope}")),
    };
    let storage_version = version.clone();
    let mut row = ResourceRow {
        kind: version.kind(*kind),
        list_kind: format!("{kind}List"),
        plural: (*plural).to_owned(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        scope,
        verbs: words_of(ALL_VERBS),
        subresources: Vec::new(),
        stored_as,
        storage_version,
        traits: BTreeSet::new(),
    };
    for word in rest {
        read_resource_attribute(word, &mut row)?;
    }
    Ok(row)
}

fn read_resource_attribute(word: &str, row: &mut ResourceRow) -> Parsed<()> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("short", names) => row.short_names = words_of(names),
        ("categories", names) => row.categories = words_of(names),
        ("verbs", verbs) => row.verbs = words_of(verbs),
        ("stored", resource) => {
            let (version, plural) = resource.rsplit_once('/').ok_or("stored= needs a group version and a plural")?;
            let version = GroupVersion::parse(version).ok_or_else(|| format!("not a group version: {version}"))?;
            row.storage_version = version.clone();
            row.stored_as = GroupVersionResource::new(version.group, version.version, plural);
        }
        ("hashed", version) => {
            let parsed = GroupVersion::parse(version).ok_or_else(|| format!("not a group version: {version}"))?;
            row.storage_version = parsed;
        }
        ("generation", _) => drop(row.traits.insert(Trait::Generation)),
        ("unconditional-update", _) => drop(row.traits.insert(Trait::UnconditionalUpdate)),
        ("create-on-update", _) => drop(row.traits.insert(Trait::CreateOnUpdate)),
        ("returns-deleted", _) => drop(row.traits.insert(Trait::ReturnsDeleted)),
        ("graceful", _) => drop(row.traits.insert(Trait::Graceful)),
        _ => return Err(format!("unknown attribute of a resource: {word}")),
    }
    Ok(())
}

fn read_subresource(line: &str, row: &ResourceRow) -> Parsed<SubresourceRow> {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let verbs = words_of(words.next().ok_or("a subresource needs verbs")?);
    let (kind, foreign) = match words.next() {
        Some(kind) => (read_kind(kind)?, true),
        None => (row.kind.clone(), false),
    };
    Ok(SubresourceRow { name, kind, verbs, foreign })
}

fn words_of(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}
