//! What Go calls types, and what it says of times.

use crate::table::{Node, TypeRef};
use crate::{Shape, Special};

/// The Go type of a place: `int32`, `map[string]string`, `v1.PodSpec`; a named one for the scalar in it.
pub(crate) fn type_name(ty: TypeRef<'_>, scalar: Option<&str>) -> String {
    let element = || ty.element().map(|element| type_name(element, scalar)).unwrap_or_default();
    match ty.node() {
        Node::String if scalar.is_some() => scalar.unwrap_or_default().to_owned(),
        Node::String => "string".to_owned(),
        Node::Bool => "bool".to_owned(),
        Node::Int32 => "int32".to_owned(),
        Node::Int64 => "int64".to_owned(),
        Node::Double => "float64".to_owned(),
        Node::Bytes => "[]uint8".to_owned(),
        Node::Any => "interface {}".to_owned(),
        Node::Special(Special::IntOrString) => "int32".to_owned(),
        Node::Struct(_) | Node::Special(_) => ty.named().map_or(String::new(), |named| {
            let mut parts = named.name.rsplit('.');
            let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{package}.{name}")
        }),
        Node::List => format!("[]{}", element()),
        Node::Map => match ty.shape() {
            Shape::Map(map) if is_quantity(ty, &map.value) => "v1.ResourceList".to_owned(),
            _ => format!("map[string]{}", element()),
        },
    }
}

fn is_quantity(ty: TypeRef<'_>, value: &Shape) -> bool {
    matches!(TypeRef::new(ty.table(), value).node(), Node::Special(Special::Quantity))
}

/// The name of a struct without its package: `PodSpec`.
pub(crate) fn struct_name(ty: TypeRef<'_>) -> &str {
    ty.named().and_then(|named| named.name.rsplit('.').next()).unwrap_or_default()
}

/// The first element of the layout that does not fit, as Go's `time.Parse` says it.
pub(crate) fn time_error(text: &str, layout: &str) -> String {
    let mut rest = text;
    for element in elements(layout) {
        match take(rest, element) {
            // Go takes a fraction after the seconds also where the layout has none.
            Some(after) if element == "05" && !layout.contains('.') => rest = skip_fraction(after),
            Some(after) => rest = after,
            None => {
                return format!(
                    "parsing time {} as {}: cannot parse {} as {}",
                    quote(text),
                    quote(layout),
                    quote(rest),
                    quote(element)
                );
            }
        }
    }
    if rest.is_empty() {
        return format!("parsing time {}: day out of range", quote(text));
    }
    format!("parsing time {}: extra text: {}", quote(text), quote(rest))
}

fn skip_fraction(text: &str) -> &str {
    let Some(digits) = text.strip_prefix('.') else { return text };
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == digits.len() { text } else { after }
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The layouts of RFC 3339, cut where Go cuts them.
fn elements(layout: &str) -> impl Iterator<Item = &str> {
    let micro = layout.contains(".000000");
    let fraction = if micro { ".000000" } else { "" };
    ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", fraction, "Z07:00"]
        .into_iter()
        .filter(|element| !element.is_empty())
}

/// What follows a text that begins with the element.
fn take<'a>(text: &'a str, element: &str) -> Option<&'a str> {
    match element {
        "Z07:00" => {
            if let Some(rest) = text.strip_prefix('Z') {
                return Some(rest);
            }
            let (offset, rest) = (text.get(..6)?, text.get(6..)?);
            let bytes = offset.as_bytes();
            let digits = [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit());
            (matches!(bytes[0], b'+' | b'-') && bytes[3] == b':' && digits).then_some(rest)
        }
        ".000000" => {
            let rest = text.strip_prefix('.')?;
            let (digits, after) = (rest.get(..6)?, rest.get(6..)?);
            digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(after)
        }
        "-" | "T" | ":" => text.strip_prefix(element),
        number => {
            let (digits, rest) = (text.get(..number.len())?, text.get(number.len()..)?);
            digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_that_does_not_fit_is_named() {
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, want) in [
            ("yesterday", r#"cannot parse "yesterday" as "2006""#),
            ("2026-1-02", r#"cannot parse "1-02" as "01""#),
            ("2026-01-02", r#"cannot parse "" as "T""#),
            ("2026-01-02T03:04:05", r#"cannot parse "" as "Z07:00""#),
        ] {
            let error = time_error(text, layout);
            assert!(error.ends_with(want), "{error}");
        }
    }
}
