//! Lists with a maximum length. In Kubernetes: `validateSlice` and `validateSet`.

use std::collections::BTreeSet;

use coracle_meta::FieldError;
use serde_json::Value;

use crate::field_checks::Wrong;

/// The errors of a list; a list that is too long has only that error.
pub(super) fn wrong_list(items: &[Value], most: usize, path: &str, check: impl Fn(&Value, &str) -> Wrong) -> Wrong {
    if items.len() > most {
        return vec![FieldError::too_many(path, items.len(), most)];
    }
    items.iter().enumerate().flat_map(|(at, item)| check(item, &format!("{path}[{at}]"))).collect()
}

/// The same for a list with unique keys.
pub(super) fn wrong_set(
    items: &[Value],
    most: usize,
    path: &str,
    check: impl Fn(&Value, &str) -> Wrong,
    key: impl Fn(&Value) -> String,
) -> Wrong {
    let mut wrong = wrong_list(items, most, path, check);
    if items.len() <= most {
        wrong.extend(duplicates(items, key).map(|(at, key)| FieldError::duplicate(format!("{path}[{at}]"), key)));
    }
    wrong
}

/// The items with the keys of earlier ones.
pub(super) fn duplicates(items: &[Value], key: impl Fn(&Value) -> String) -> impl Iterator<Item = (usize, String)> {
    let keys: Vec<String> = items.iter().map(key).collect();
    let mut seen = BTreeSet::new();
    let doubles: Vec<usize> = (0..keys.len()).filter(|at| !seen.insert(keys[*at].as_str())).collect();
    doubles.into_iter().map(move |at| (at, keys[at].clone()))
}
