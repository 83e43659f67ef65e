//! JSON of the log, which may be nested as deeply as the API allows.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Deserializer, Error};

/// The maximum depth: twice that of an object with its surroundings.
const DEEPEST: usize = 1200;

/// Reads JSON with up to 1,200 levels; `serde_json` alone allows 127.
///
/// # Errors
/// If the text is not JSON, does not fit the type, or is nested too deeply.
pub fn from_slice<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    match serde_json::from_slice(text) {
        Err(error) if error.is_syntax() => from_deep(text),
        read => read,
    }
}

fn from_deep<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    if is_too_deep(text) {
        return Err(Error::custom(format!("the JSON is nested deeper than {DEEPEST} levels")));
    }
    let mut reader = Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        match (is_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_string = !is_string,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn deep_values_are_read_up_to_the_limit() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [1, 127, 128, DEEPEST] {
            assert_eq!(from_slice::<Value>(nested(levels).as_bytes()).unwrap().to_string(), nested(levels));
        }
        let error = from_slice::<Value>(nested(DEEPEST + 1).as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "the JSON is nested deeper than 1200 levels");
        assert!(from_slice::<Value>(b"[\"[\", 1 1]").is_err());
    }
}
