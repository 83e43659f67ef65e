//! Kinds without a description of their own: all fields.
//!
//! In Kubernetes: `genericDescriber`.

use serde_json::{Map, Value};

use super::labels::metadata;
use super::{Description, Facts, events};
use crate::printer::go_value;
use crate::values::{name, namespace};

/// The fields that the description has at its beginning, or leaves out.
const SKIPPED: &[&str] =
    &[".metadata.managedFields", ".metadata.name", ".metadata.namespace", ".metadata.labels", ".metadata.annotations"];

/// Words in capitals.
const ACRONYMS: &[&str] = &["API", "URL", "UID", "OSB", "GUID"];

pub(super) fn generic(object: &Value, facts: &Facts) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    metadata(&mut out, object);
    if let Some(content) = object.as_object() {
        fields(&mut out, 0, content, "");
    }
    events::describe(&mut out, facts);
    out
}

fn fields(out: &mut Description, level: usize, content: &Map<String, Value>, path: &str) {
    for (field, value) in content {
        let path = format!("{path}.{field}");
        if SKIPPED.contains(&path.as_str()) {
            continue;
        }
        match value {
            Value::Object(inner) => {
                out.line(level, format!("{}:", title(field)));
                fields(out, level + 1, inner, &path);
            }
            Value::Array(items) => {
                out.line(level, format!("{}:", title(field)));
                for item in items {
                    match item {
                        Value::Object(inner) => fields(out, level + 1, inner, &path),
                        other => out.line(level + 1, go_value(other)),
                    }
                }
            }
            scalar => out.field(level, &title(field), go_value(scalar)),
        }
    }
}

/// The name of a field as words. In Kubernetes: `describe.smartLabelFor`.
fn title(field: &str) -> String {
    if field.chars().any(|sign| !sign.is_alphabetic() && sign != '-') {
        return field.to_owned();
    }
    let word = |part: String| {
        let upper = part.to_uppercase();
        if ACRONYMS.contains(&upper.as_str()) {
            return upper;
        }
        let mut signs = part.chars();
        signs.next().map(|first| first.to_uppercase().chain(signs).collect()).unwrap_or_default()
    };
    split(field).into_iter().map(word).collect::<Vec<String>>().join(" ")
}

/// The words of a name in camel case. In Go: `fatih/camelcase`.
fn split(field: &str) -> Vec<String> {
    let class = |sign: char| match sign {
        sign if sign.is_lowercase() => 1,
        sign if sign.is_uppercase() => 2,
        _ => 4,
    };
    let mut words: Vec<Vec<char>> = Vec::new();
    for sign in field.chars() {
        match words.last_mut() {
            Some(word) if word.last().is_some_and(|last| class(*last) == class(sign)) => word.push(sign),
            _ => words.push(vec![sign]),
        }
    }
    for index in 0..words.len().saturating_sub(1) {
        if class(words[index][0]) == 2
            && class(words[index + 1][0]) == 1
            && let Some(last) = words[index].pop()
        {
            words[index + 1].insert(0, last);
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).map(|word| word.into_iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_are_split_into_words() {
        for (field, words) in [
            ("apiVersion", "API Version"),
            ("creationTimestamp", "Creation Timestamp"),
            ("uid", "UID"),
            ("clusterIPs", "Cluster I Ps"),
            ("podCIDR", "Pod CIDR"),
            ("a.b", "a.b"),
            ("resourceVersion", "Resource Version"),
        ] {
            assert_eq!(title(field), words, "{field}");
        }
    }
}
