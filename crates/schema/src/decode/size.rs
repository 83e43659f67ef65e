//! Limits the memory of a decoded body. An empty object takes two bytes in a body, and kilobytes after it is decoded,
//! defaulted, validated and copied.

use coracle_meta::FieldError;
use serde_json::Value;

use crate::text::raw::Raw;

/// The maximum weight of a body: about 40,000 objects or 200,000 entries of maps, which take 250 MB.
const MOST: usize = 400_000;
/// The weight of an object without its fields.
const OBJECT: usize = 8;
/// The weight of a field or a map entry without its value.
const ENTRY: usize = 2;
/// The weight of a list item without its fields.
const ITEM: usize = 1;

/// The depth up to which the error names the list with too many elements.
const DEEPEST_NAMED: usize = 12;

/// A tree of lists and objects.
pub(crate) trait Nested: Sized {
    /// The items of a list.
    fn items(&self) -> Option<&[Self]>;

    /// The fields of an object.
    fn fields(&self) -> Option<impl Iterator<Item = (&str, &Self)>>;
}

impl Nested for Raw {
    fn items(&self) -> Option<&[Self]> {
        if let Raw::List(items) = self { Some(items) } else { None }
    }

    fn fields(&self) -> Option<impl Iterator<Item = (&str, &Self)>> {
        let Raw::Object(fields) = self else { return None };
        Some(fields.iter().map(|(name, value)| (name.as_str(), value)))
    }
}

impl Nested for Value {
    fn items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn fields(&self) -> Option<impl Iterator<Item = (&str, &Self)>> {
        Some(self.as_object()?.iter().map(|(name, value)| (name.as_str(), value)))
    }
}

fn weight(tree: &impl Nested) -> usize {
    if let Some(items) = tree.items() {
        return items.iter().map(|item| ITEM + weight(item)).sum();
    }
    tree.fields().map_or(0, |fields| OBJECT + fields.map(|(_, value)| ENTRY + weight(value)).sum::<usize>())
}

/// The error of a body that exceeds the limit, with its largest list or map.
pub(crate) fn too_many(body: &impl Nested) -> Option<FieldError> {
    let whole = weight(body);
    if whole <= MOST {
        return None;
    }
    let (path, count) = heaviest(body, String::new(), DEEPEST_NAMED);
    let most = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(MOST as u64) / whole as u64;
    Some(FieldError::too_many(path, count, usize::try_from(most).unwrap_or(MOST)))
}

/// The path and the number of elements of the largest list or map, up to a number of levels.
fn heaviest<T: Nested>(tree: &T, path: String, levels: usize) -> (String, usize) {
    let whole = weight(tree);
    if let Some(items) = tree.items() {
        let (at, most) = items.iter().enumerate().max_by_key(|(_, item)| weight(*item)).unzip();
        return match (at, most) {
            (Some(at), Some(most)) if levels > 0 && weight(most) > whole / 2 => {
                heaviest(most, format!("{path}[{at}]"), levels - 1)
            }
            _ => (path, items.len()),
        };
    }
    let count = tree.fields().map_or(0, Iterator::count);
    let most = tree.fields().and_then(|fields| fields.max_by_key(|(_, value)| weight(*value)));
    match most {
        Some((name, most)) if levels > 0 && weight(most) > whole / 2 => {
            let dot = if path.is_empty() { "" } else { "." };
            heaviest(most, format!("{path}{dot}{name}"), levels - 1)
        }
        _ => (path, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_list_that_makes_a_body_too_large_is_named() {
        let pod = |containers: usize| json!({"spec": {"containers": vec![json!({}); containers], "volumes": [{}]}});
        assert_eq!(too_many(&pod(40_000)), None);
        let said = too_many(&pod(100_000)).unwrap().message();
        assert_eq!(said, "spec.containers: Too many: 100000: must have at most 44442 items");
        let labels: Value =
            (0..300_000).map(|at| (format!("a{at}"), json!(""))).collect::<serde_json::Map<_, _>>().into();
        let said = too_many(&json!({"metadata": {"labels": labels}})).unwrap().message();
        assert!(said.starts_with("metadata.labels: Too many: 300000: "), "{said}");
        let nested = json!({"spec": {"containers": [{}, {"env": vec![json!({}); 100_000]}]}});
        let said = too_many(&nested).unwrap().message();
        assert!(said.starts_with("spec.containers[1].env: Too many: 100000: "), "{said}");
    }
}
