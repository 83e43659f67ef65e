//! Parses YAML to [`Raw`] like Kubernetes: with the booleans of YAML 1.1 and octal numbers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::json;
use super::raw::Raw;

/// Parses the first document: JSON up to the maximum depth of written objects, other YAML up to 64 levels.
pub(crate) fn parse(text: &[u8]) -> Result<Raw, String> {
    let text = first_document(text);
    if text.trim_ascii_start().starts_with(b"{")
        && let Ok(raw) = json::parse(text)
    {
        return Ok(raw);
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_slice_with_options(text, options)
        .map_err(|error| format!("yaml: {}", go_text(first_line(&error.to_string()))))
}

/// Go's error for invalid YAML: the line, if it is not the first, and the reason.
/// In Kubernetes: `yaml.parser.fail`.
fn go_text(text: &str) -> String {
    let Some(rest) = text.strip_prefix("error: line ") else { return text.to_owned() };
    let place = rest.split_once(" column ").and_then(|(line, rest)| Some((line, rest.split_once(": ")?.1)));
    match place {
        None => text.to_owned(),
        Some(("1", what)) => what.to_owned(),
        Some((line, what)) => format!("line {line}: {what}"),
    }
}

/// The text up to the end marker of its first document.
pub(crate) fn first_document(text: &[u8]) -> &[u8] {
    let (mut at, mut begun) = (0, false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let is_mark = |mark: &[u8]| {
            line.strip_prefix(mark).is_some_and(|rest| rest.first().is_none_or(|byte| byte.is_ascii_whitespace()))
        };
        if begun && (is_mark(b"---") || is_mark(b"...")) {
            return &text[..at];
        }
        let trimmed = line.trim_ascii();
        begun |= !trimmed.is_empty() && !trimmed.starts_with(b"#") && !trimmed.starts_with(b"%");
        at += line.len();
    }
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Node)
    }
}

struct Node;

impl<'de> Visitor<'de> for Node {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Raw, A::Error> {
        let mut out = Vec::new();
        while let Some(element) = elements.next_element()? {
            out.push(element);
        }
        Ok(Raw::List(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Raw, A::Error> {
        let mut out = Vec::new();
        while let Some((key, value)) = fields.next_entry::<Raw, Raw>()? {
            let name = match key {
                Raw::String(text) | Raw::Number(text) => text,
                Raw::Bool(value) => value.to_string(),
                Raw::Null => "null".to_owned(),
                Raw::List(_) | Raw::Object(_) => return Err(serde::de::Error::custom("a key is a scalar")),
            };
            out.push((name, value));
        }
        Ok(Raw::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{DecodedForm, Pass};
    use serde_json::json;

    #[test]
    fn yaml_is_read_as_kubernetes_reads_it() {
        let text = "a: yes\nb: '1'\nc: 0644\nd: 1.5\ne:\nf: [x, {g: 1}]\n1: one\n";
        let want = json!({"a": true, "b": "1", "c": 420, "d": 1.5, "e": null, "f": ["x", {"g": 1}], "1": "one"});
        assert_eq!(Pass::new(DecodedForm::Received).free(parse(text.as_bytes()).unwrap()), want);
    }

    #[test]
    fn keys_that_are_there_twice_are_both_seen() {
        let raw = parse(b"a: 1\na: 2\n").unwrap();
        assert_eq!(
            raw,
            Raw::Object(vec![("a".into(), Raw::Number("1".into())), ("a".into(), Raw::Number("2".into()))])
        );
    }

    #[test]
    fn of_several_documents_the_first_is_read() {
        let text = "# a list\n---\na: |\n  ---\n  b\n---\nc: 1\n";
        let read = |text: &str| Pass::new(DecodedForm::Received).free(parse(text.as_bytes()).unwrap());
        assert_eq!(read(text), json!({"a": "---\nb\n"}));
        assert_eq!(read("a: 1\n---\n"), json!({"a": 1}));
    }

    #[test]
    fn invalid_yaml_is_refused() {
        assert!(parse(b"a: [1\n").unwrap_err().starts_with("yaml: "));
        assert_eq!(parse(b"a: b: c").unwrap_err(), "yaml: mapping values are not allowed in this context");
        assert_eq!(
            parse(b"a: 1\nb: c: d").unwrap_err(),
            "yaml: line 2: mapping values are not allowed in this context"
        );
        assert!(parse("{".repeat(100_000).as_bytes()).is_err());
    }
}
