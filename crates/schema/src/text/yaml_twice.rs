use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::raw::Raw;
use super::yaml::first_document;

/// The errors of go-yaml about duplicate keys, if there are any.
/// In Kubernetes: `yaml.UnmarshalStrict`, which returns them unchanged.
pub(crate) fn keys_that_are_there_twice(text: &[u8]) -> Option<String> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        legacy_octal_numbers: true,
    };
    let Twice(found) = serde_saphyr::from_slice_with_options(first_document(text), options).ok()?;
    if found.is_empty() { None } else { Some(format!("yaml: unmarshal errors:\n  {}", found.join("\n  "))) }
}

/// An error for each duplicate key below a node, deeper ones first.
struct Twice(Vec<String>);

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Node)
    }
}

struct Node;

impl<'de> Visitor<'de> for Node {
    type Value = Twice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Twice, D::Error> {
        Twice::deserialize(deserializer)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Twice, A::Error> {
        let mut found = Vec::new();
        while let Some(Twice(below)) = elements.next_element()? {
            found.extend(below);
        }
        Ok(Twice(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Twice, A::Error> {
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        while let Some((key, value)) = fields.next_entry::<Raw, Spanned<Twice>>()? {
            // go-yaml reports the line of the value.
            let line = value.defined.line();
            found.extend(value.value.0);
            if seen.contains(&key) {
                found.push(format!("line {line}: key {} already set in map", printed(&key)));
            } else {
                seen.insert(key);
            }
        }
        Ok(Twice(found))
    }
}

/// A key as Go's `%#v` prints it.
fn printed(key: &Raw) -> String {
    match key {
        Raw::String(text) => format!("{text:?}"),
        Raw::Number(digits) => digits.clone(),
        Raw::Bool(value) => value.to_string(),
        Raw::Null | Raw::List(_) | Raw::Object(_) => "<nil>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_have_the_errors_of_go_yaml() {
        let text = "\na: 1\nb:\n- c: {x: 1}\n  c:\n    x: 1\n    x: 2\nb: 2\n1: a\n1: b\n";
        let expected = "yaml: unmarshal errors:\n  line 7: key \"x\" already set in map\n  line 6: key \"c\" already set in map\n  line 8: key \"b\" already set in map\n  line 10: key 1 already set in map";
        assert_eq!(keys_that_are_there_twice(text.as_bytes()).as_deref(), Some(expected));
        assert_eq!(keys_that_are_there_twice(b"a: 1\nb: {a: 1}\n"), None);
    }
}
