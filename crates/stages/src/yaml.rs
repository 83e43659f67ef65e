//! YAML for templates. In KWOK: `sigs.k8s.io/yaml`.

use serde_json::Value as Json;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::block_yaml;

/// The deepest level that is written as blocks.
const DEEPEST: usize = 100;

/// A document as JSON; an empty one is null.
pub(crate) fn from_yaml(text: &str) -> Result<Json, String> {
    if text.trim().is_empty() {
        return Ok(Json::Null);
    }
    block_yaml::read(text).map_or_else(|| parse(text), Ok)
}

/// A document as JSON, read by the full parser.
pub(crate) fn parse(text: &str) -> Result<Json, String> {
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
    coracle_yaml::to_yaml_up_to(value, DEEPEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_blocks() {
        let value = json!({"a": ["x", {"b": 1, "c": []}], "d": {"e": "yes", "f": "1k"}, "g": null});
        assert_eq!(to_yaml(&value), "a:\n- x\n- b: 1\n  c: []\nd:\n  e: \"yes\"\n  f: 1k\ng: null\n");
        assert_eq!(from_yaml(&to_yaml(&value)).unwrap(), value);
        assert_eq!(from_yaml("").unwrap(), Json::Null);
        assert!(from_yaml("a: [").is_err());
    }
}
