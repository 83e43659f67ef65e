//! The fields of a type as JSON and protobuf show them: those of embedded structs are its own.

use super::go_types::{GoExpression, GoField, GoType};
use super::packages::Sources;

/// A field of a type.
#[derive(Clone, Debug)]
pub(crate) struct FlatField {
    pub(crate) name: String,
    /// The numbers from the message to the field; `None` without a number.
    pub(crate) tags: Option<Vec<u32>>,
    pub(crate) is_pointer: bool,
    pub(crate) omits_empty: bool,
    pub(crate) omits_zero: bool,
    pub(crate) ty: GoExpression,
}

/// The fields of a type in Go's order; the kind and the version come first.
pub(crate) fn fields_of(sources: &Sources, path: &str, name: &str) -> Option<Vec<FlatField>> {
    let GoType::Struct(fields) = sources.get(path)?.get(name)? else { return None };
    let mut flat = Vec::new();
    for field in fields {
        add(sources, field, &mut flat);
    }
    Some(flat)
}

fn add(sources: &Sources, field: &GoField, flat: &mut Vec<FlatField>) {
    let (is_pointer, ty) = match &field.ty {
        GoExpression::Pointer(ty) => (true, (**ty).clone()),
        ty => (false, ty.clone()),
    };
    if !field.json.is_empty() {
        let mut tags = field.tag.map(|tag| vec![tag]);
        // Protobuf has a message around the elements of such a list.
        if let (Some(tags), Some(GoType::NullableList(_))) = (&mut tags, declared(sources, &ty)) {
            tags.push(1);
        }
        let &GoField { omits_empty, omits_zero, .. } = field;
        flat.push(FlatField { name: field.json.clone(), tags, is_pointer, omits_empty, omits_zero, ty });
        return;
    }
    let GoExpression::Named(path, name) = &ty else { return };
    for mut inner in fields_of(sources, path, name).unwrap_or_default() {
        inner.tags = match (field.tag, inner.tags) {
            (Some(tag), Some(mut tags)) => {
                tags.insert(0, tag);
                Some(tags)
            }
            _ => None,
        };
        flat.push(inner);
    }
}

/// What a type is in the end: a list, a map, a word of the language, or a struct by its name.
pub(crate) fn underlying(sources: &Sources, ty: &GoExpression) -> Option<GoExpression> {
    let GoExpression::Named(path, name) = ty else { return Some(ty.clone()) };
    if path.is_empty() {
        return Some(ty.clone());
    }
    match sources.get(path)?.get(name)? {
        GoType::Struct(_) => Some(ty.clone()),
        GoType::Other(inner) | GoType::NullableList(inner) => underlying(sources, inner),
    }
}

fn declared<'a>(sources: &'a Sources, ty: &GoExpression) -> Option<&'a GoType> {
    let GoExpression::Named(path, name) = ty else { return None };
    sources.get(path)?.get(name)
}

/// The type of the elements of a list or map, or the type itself.
pub(crate) fn element(sources: &Sources, ty: &GoExpression) -> GoExpression {
    match ty {
        GoExpression::Pointer(inner) | GoExpression::List(inner) | GoExpression::Map(inner) => element(sources, inner),
        GoExpression::Named(..) => match underlying(sources, ty) {
            Some(GoExpression::List(inner) | GoExpression::Map(inner)) => element(sources, &inner),
            _ => ty.clone(),
        },
    }
}

/// The name in messages of a scalar type with a name of its own, such as `v1.DNSPolicy`.
pub(crate) fn scalar_name(sources: &Sources, ty: &GoExpression) -> Option<String> {
    let element = element(sources, ty);
    let GoExpression::Named(path, name) = &element else { return None };
    match underlying(sources, &element)? {
        GoExpression::Named(inner, _) if inner.is_empty() && !path.is_empty() => {
            Some(format!("{}.{name}", path.rsplit('/').next().unwrap_or(path)))
        }
        _ => None,
    }
}
