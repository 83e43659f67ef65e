//! Go's names of types.

use crate::table::{TypeNode, TypeRef};
use crate::{Shape, Special};

/// The Go type of a place: `int32`, `map[string]string`, `v1.PodSpec`; with the named type of its scalar, if any.
pub(crate) fn type_name(ty: TypeRef<'_>, scalar: Option<&str>) -> String {
    let element = || ty.element().map(|element| type_name(element, scalar)).unwrap_or_default();
    match ty.node() {
        TypeNode::String if scalar.is_some() => scalar.unwrap_or_default().to_owned(),
        TypeNode::String => "string".to_owned(),
        TypeNode::Bool => "bool".to_owned(),
        TypeNode::Int32 => "int32".to_owned(),
        TypeNode::Int64 => "int64".to_owned(),
        TypeNode::Double => "float64".to_owned(),
        TypeNode::Bytes => "[]uint8".to_owned(),
        TypeNode::Any => "interface {}".to_owned(),
        TypeNode::Special(Special::IntOrString) => "int32".to_owned(),
        TypeNode::Struct(_) | TypeNode::Special(_) => ty.named().map_or(String::new(), |named| {
            let mut parts = named.name.rsplit('.');
            let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{package}.{name}")
        }),
        TypeNode::List => format!("[]{}", element()),
        TypeNode::Map => match ty.shape() {
            Shape::Map(map) if is_quantity(ty, &map.value) => "v1.ResourceList".to_owned(),
            _ => format!("map[string]{}", element()),
        },
    }
}

fn is_quantity(ty: TypeRef<'_>, value: &Shape) -> bool {
    matches!(TypeRef::new(ty.table(), value).node(), TypeNode::Special(Special::Quantity))
}

/// The name of a struct without its package: `PodSpec`.
pub(crate) fn struct_name(ty: TypeRef<'_>) -> &str {
    ty.named().and_then(|named| named.name.rsplit('.').next()).unwrap_or_default()
}
