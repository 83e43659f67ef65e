/// JSON text as Go's encoder passes it on: without white space, and with the signs escaped that HTML gives a meaning to.
///
/// The order of fields and the way in which numbers and strings are written stay. In Kubernetes: `json.compact` of
/// `encoding/json` with `escapeHTML`.
pub fn go_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for sign in text.chars() {
        match sign {
            ' ' | '\n' | '\r' | '\t' if !in_string => continue,
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            sign => out.push(sign),
        }
        in_string ^= sign == '"' && !escaped;
        escaped = in_string && sign == '\\' && !escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whitespace_is_removed_between_values_and_never_in_strings() {
        assert_eq!(go_json("{ \"b\" : [1, 2.0],\n\"a\":\" x\\\" \\\\\" }"), r#"{"b":[1,2.0],"a":" x\" \\"}"#);
        assert_eq!(go_json("\"<a & b>\u{2028}\""), r#""\u003ca \u0026 b\u003e\u2028""#);
    }

    proptest! {
        #[test]
        fn the_meaning_of_the_json_stays(key in ".*", value in ".*", number in any::<i64>()) {
            let tree = serde_json::json!({key: [value, number, null, {"x": {}}]});
            let text = go_json(&serde_json::to_string_pretty(&tree).unwrap());
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), tree);
            prop_assert_eq!(go_json(&text), text);
        }
    }
}
