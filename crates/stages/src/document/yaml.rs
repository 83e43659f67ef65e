//! YAML for templates. In KWOK: `sigs.k8s.io/yaml`.

use serde_json::Value as Json;
use serde_saphyr::options::DuplicateKeyPolicy;

/// The deepest level that is written as blocks.
const DEEPEST: usize = 100;

/// A document as JSON; an empty one is null.
pub(crate) fn from_yaml(text: &str) -> Result<Json, String> {
    if text.trim().is_empty() {
        return Ok(Json::Null);
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.without_snippet().to_string();
        format!("gives no YAML: {}", message.lines().next().unwrap_or_default())
    })
}

/// A value in block style, with a final line break.
pub(crate) fn to_yaml(value: &Json) -> String {
    let mut text = String::new();
    write(value, 0, DEEPEST, &mut text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Writes a value at the end of the text, in the column `indent`.
fn write(value: &Json, indent: usize, depth: usize, into: &mut String) {
    match value {
        Json::Array(items) if !items.is_empty() && depth > 0 => {
            for (at, item) in items.iter().enumerate() {
                into.push_str(&" ".repeat(if at == 0 { 0 } else { indent }));
                into.push_str("- ");
                write(item, indent + 2, depth - 1, into);
                end_line(into);
            }
        }
        Json::Object(fields) if !fields.is_empty() && depth > 0 => {
            for (at, (key, value)) in fields.iter().enumerate() {
                into.push_str(&" ".repeat(if at == 0 { 0 } else { indent }));
                into.push_str(&scalar(key));
                into.push(':');
                let (below, is_block) = match value {
                    Json::Array(items) => (indent, !items.is_empty()),
                    Json::Object(fields) => (indent + 2, !fields.is_empty()),
                    _ => (0, false),
                };
                if is_block && depth > 1 {
                    into.push('\n');
                    into.push_str(&" ".repeat(below));
                } else {
                    into.push(' ');
                }
                write(value, below, depth - 1, into);
                end_line(into);
            }
        }
        Json::String(text) => into.push_str(&scalar(text)),
        // Below that, JSON is valid YAML.
        other => into.push_str(&other.to_string()),
    }
}

fn end_line(into: &mut String) {
    if !into.ends_with('\n') {
        into.push('\n');
    }
}

/// A string, quoted unless it cannot be read as another type.
fn scalar(text: &str) -> String {
    let is_plain_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.' | '/' | ' ');
    let is_plain = text.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '/')
        && !text.ends_with(' ')
        && text.chars().all(is_plain_sign)
        && matches!(from_yaml(text), Ok(Json::String(read)) if read == text);
    if is_plain { text.to_owned() } else { Json::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_blocks() {
        let value = json!({"a": ["x", {"b": 1, "c": []}], "d": {"e": "yes", "f": "1k"}, "g": null});
        assert_eq!(to_yaml(&value), "a:\n- x\n- b: 1\n  c: []\nd:\n  e: \"yes\"\n  f: \"1k\"\ng: null\n");
        assert_eq!(from_yaml("").unwrap(), Json::Null);
        assert!(from_yaml("a: [").is_err());
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "\\PC{0,8}".prop_map(Json::from),
            prop::sample::select(vec!["yes", "no", "~", "0x1", "1e3", "on", "null", "- a", "a: b", "# c", ".5"])
                .prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("[a-z~]{1,4}", inner, 0..4)
                    .prop_map(|fields| Json::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_yaml_is_read_again(value in any_json()) {
            prop_assert_eq!(from_yaml(&to_yaml(&value)).unwrap(), value);
        }
    }
}
