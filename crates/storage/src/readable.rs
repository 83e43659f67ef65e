use std::fmt;

use coracle_meta::json;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Whether a value can be decoded as an object: it is complete JSON within the depth limit, its numbers and strings
/// are valid, and it has exactly one metadata, which is an object.
pub(crate) fn is_readable(value: &[u8]) -> bool {
    if json::is_deeper_than(value, json::DEEPEST_READ) {
        return false;
    }
    let mut reader = serde_json::Deserializer::from_slice(value);
    reader.disable_recursion_limit();
    reader.deserialize_map(Top).is_ok() && reader.end().is_ok()
}

/// The members that an object has only once.
const ONCE: [&str; 3] = ["kind", "apiVersion", "metadata"];

struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = [false; ONCE.len()];
        while let Some(name) = members.next_key_seed(Name)? {
            if let Some(index) = name {
                if std::mem::replace(&mut seen[index], true) {
                    return Err(A::Error::custom("a member of the object stands there twice"));
                }
                if ONCE[index] == "metadata" {
                    members.next_value_seed(Fields)?;
                    continue;
                }
            }
            members.next_value_seed(Any)?;
        }
        Ok(())
    }
}

/// The name of a member: its index among those that an object has only once.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<usize>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(ONCE.iter().position(|once| *once == name))
    }
}

/// An object with any content.
struct Fields;

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_entry_seed(Any, Any)?.is_some() {}
        Ok(())
    }
}

/// Any valid value.
struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Any)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        Fields.visit_map(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1));
        format!(r#"{{"metadata":{{}},"spec":{deep}}}"#)
    }

    #[test]
    fn readable_values_are_read() {
        let text = r#"{"kind":"K","metadata":{"name":"é\n\ud83d\ude00"},"spec":[null,true,-1,1e300,{}]}"#;
        for text in [text, "{}", &nested(128), &nested(json::DEEPEST_READ)] {
            assert!(is_readable(text.as_bytes()), "{text}");
            json::from_str::<serde_json::Value>(text).unwrap();
        }
    }

    #[test]
    fn values_that_a_tree_cannot_represent_are_unreadable() {
        let wrong: [&[u8]; 11] = [
            b"",
            b"[]",
            b"5",
            br#"{"metadata":{}"#,
            br#"{"metadata":{}} 1"#,
            br#"{"metadata":5}"#,
            br#"{"metadata":{},"metadata":{}}"#,
            br#"{"kind":"a","kind":"b"}"#,
            br#"{"a":1e999}"#,
            br#"{"a":"\ud800"}"#,
            b"{\"a\":\"\xff\"}",
        ];
        for value in wrong {
            assert!(!is_readable(value), "{}", String::from_utf8_lossy(value));
        }
        assert!(!is_readable(nested(json::DEEPEST_READ + 1).as_bytes()));
    }
}
