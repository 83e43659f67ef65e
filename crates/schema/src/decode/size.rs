//! How much a body may make of itself. An empty object takes two bytes in a body and kilobytes once it is read, has its
//! defaults, is validated and is copied for those who look at it.

use coracle_meta::FieldError;
use serde_json::Value;

use super::raw::Raw;

/// What the values of a body may weigh together. About 40,000 objects or 200,000 entries of maps, which take 250 MB.
const MOST: usize = 400_000;
/// What an object weighs, besides its fields.
const OBJECT: usize = 8;
/// What a field of an object or an entry of a map weighs, besides its value.
const ENTRY: usize = 2;
/// What an item of a list weighs, besides its fields.
const ITEM: usize = 1;

/// How deep the list is looked for that has too many elements.
const DEEPEST_NAMED: usize = 12;

/// A value of lists and objects.
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

/// Says that a body makes too much of itself, and which list or map of it does most.
pub(crate) fn too_many(body: &impl Nested) -> Option<FieldError> {
    let whole = weight(body);
    if whole <= MOST {
        return None;
    }
    let (path, count) = heaviest(body, String::new(), DEEPEST_NAMED);
    let most = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(MOST as u64) / whole as u64;
    Some(FieldError::too_many(path, count, usize::try_from(most).unwrap_or(MOST)))
}

/// The list or the map in which most stands, and how many elements it has. It is looked for so many levels deep.
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
