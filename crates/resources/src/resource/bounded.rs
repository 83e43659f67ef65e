//! Lists that may only be so long. In Kubernetes: `validateSlice` and `validateSet`.

use std::collections::BTreeSet;

use coracle_meta::FieldError;
use serde_json::Value;

use crate::field_checks::Wrong;

/// What is wrong with a list; of one that is too long, only that.
pub(super) fn wrong_list(items: &[Value], most: usize, path: &str, check: impl Fn(&Value, &str) -> Wrong) -> Wrong {
    if items.len() > most {
        return vec![FieldError::too_many(path, items.len(), most)];
    }
    items.iter().enumerate().flat_map(|(at, item)| check(item, &format!("{path}[{at}]"))).collect()
}

/// The same of a list in which no two items have the same key.
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

/// The items whose keys earlier ones have already.
pub(super) fn duplicates(items: &[Value], key: impl Fn(&Value) -> String) -> impl Iterator<Item = (usize, String)> {
    let keys: Vec<String> = items.iter().map(key).collect();
    let mut seen = BTreeSet::new();
    let doubles: Vec<usize> = (0..keys.len()).filter(|at| !seen.insert(keys[*at].as_str())).collect();
    doubles.into_iter().map(move |at| (at, keys[at].clone()))
}
