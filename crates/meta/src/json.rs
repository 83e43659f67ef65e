//! The maximum depth of JSON: one limit for writes, and a higher one for reads.
//!
//! What was written can be read: an object of [`DEEPEST_WRITTEN`] levels stays below [`DEEPEST_READ`] with its managed fields,
//! and inside a list, an event or a review. In Kubernetes: Go's decoder, whose only limit is 10,000 levels.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Deserializer, Error, Value};

/// How many levels an object that is written may have, without the fields that managers own.
pub const DEEPEST_WRITTEN: usize = 500;
/// How many levels JSON that is read may have.
pub const DEEPEST_READ: usize = 1000;

/// Reads JSON of up to [`DEEPEST_READ`] levels; `serde_json` alone refuses more than 127.
///
/// # Errors
/// It is no JSON, does not fit the type, or is too deep.
pub fn from_slice<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    match serde_json::from_slice(text) {
        // What can be read without more ado is the rule, and pays for no count.
        Err(error) if error.is_syntax() && is_deeper_than(text, SERDE_DEEPEST) => from_deep(text),
        read => read,
    }
}

/// The same for text.
///
/// # Errors
/// As [`from_slice`].
pub fn from_str<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    from_slice(text.as_bytes())
}

/// The limit of `serde_json`.
const SERDE_DEEPEST: usize = 127;

fn from_deep<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    if is_deeper_than(text, DEEPEST_READ) {
        return Err(Error::custom(too_deep(DEEPEST_READ)));
    }
    let mut reader = Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The error of a value with more levels than `most`.
pub fn too_deep(most: usize) -> String {
    format!("the JSON is nested deeper than {most} levels")
}

/// Whether a JSON text has more levels than `most`. Of bytes that are no JSON the answer means nothing.
pub fn is_deeper_than(text: &[u8], most: usize) -> bool {
    // Each level has a sign that opens it and one that closes it.
    if text.len() / 2 <= most {
        return false;
    }
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        match (is_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (true, b'"') => is_string = false,
            (true, _) => {}
            (false, b'"') => is_string = true,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, _) => {}
        }
    }
    false
}

/// How many levels a value has: none for a text or a number, one for a list of them.
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut left = vec![(value, 0)];
    while let Some((value, depth)) = left.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(values) => {
                deepest = deepest.max(depth + 1);
                left.extend(values.iter().filter(|value| holds_others(value)).map(|value| (value, depth + 1)));
            }
            Value::Object(fields) => {
                deepest = deepest.max(depth + 1);
                left.extend(fields.values().filter(|value| holds_others(value)).map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    deepest
}

fn holds_others(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn json_up_to_the_maximum_depth_is_read_and_deeper_json_is_an_error() {
        for levels in [1, SERDE_DEEPEST, SERDE_DEEPEST + 1, DEEPEST_READ] {
            let value: Value = from_str(&nested(levels)).unwrap();
            assert_eq!(depth(&value), levels);
        }
        let error = from_str::<Value>(&nested(DEEPEST_READ + 1)).unwrap_err();
        assert_eq!(error.to_string(), "the JSON is nested deeper than 1000 levels");
        assert!(from_str::<Value>(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn invalid_json_is_refused_at_any_depth() {
        assert!(from_str::<Value>("{").unwrap_err().is_eof());
        let torn = nested(200);
        assert!(from_str::<Value>(&torn[..torn.len() - 1]).is_err());
        assert!(from_str::<Value>(&format!("{torn} 1")).is_err());
        assert!(from_str::<u8>(&torn).unwrap_err().is_data());
    }

    #[test]
    fn brackets_in_strings_are_not_levels() {
        let text = json!(["{[\"{[\\".repeat(1000)]).to_string();
        assert!(!is_deeper_than(text.as_bytes(), 1));
        assert!(is_deeper_than(nested(300).as_bytes(), 299));
    }

    proptest! {
        #[test]
        fn the_depth_of_a_text_is_that_of_its_value(shape in proptest::collection::vec(0..3_u8, 0..40), text in "\\PC*") {
            let value = shape.into_iter().fold(json!(text), |value, kind| match kind {
                0 => json!([value]),
                1 => json!({"a": 1, "b": value}),
                _ => json!([1, value, {"c": []}]),
            });
            let (levels, text) = (depth(&value), value.to_string());
            prop_assert!(!is_deeper_than(text.as_bytes(), levels));
            prop_assert!(levels == 0 || text.len() / 2 < levels || is_deeper_than(text.as_bytes(), levels - 1));
        }
    }
}
