//! Sentences with expressions in them.

use coracle_expression::{Environment, Expression};
use serde_json::Value;

/// A part of a sentence.
#[derive(Debug)]
pub(crate) enum TextPart {
    /// Literal text.
    Words(String),
    /// The value of an expression.
    Value(Expression),
}

/// Parses a text: a part in braces is an expression.
pub(crate) fn parts(text: &str, environment: &Environment) -> Result<Vec<TextPart>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').ok_or("a `{` without its `}`")?;
        let expression = Expression::compile_in(inside.trim(), environment).map_err(|why| why.to_string())?;
        parts.push(TextPart::Words(before.to_owned()));
        parts.push(TextPart::Value(expression));
        rest = after;
    }
    if rest.contains('}') {
        return Err("a `}` without its `{`".to_owned());
    }
    parts.push(TextPart::Words(rest.to_owned()));
    Ok(parts)
}

/// A value as readable text.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => seconds(text).map_or_else(|| text.clone(), time),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The seconds of a duration in CEL's JSON format: `0.0035s`.
fn seconds(text: &str) -> Option<f64> {
    let number = text.strip_suffix('s')?;
    number.starts_with(|first: char| first.is_ascii_digit() || first == '-').then(|| number.parse().ok())?
}

fn time(seconds: f64) -> String {
    let (number, unit) = match seconds.abs() {
        0.0 => return "no time at all".to_owned(),
        short if short < 1.0 => (seconds * 1000.0, "ms"),
        middle if middle < 120.0 => (seconds, "s"),
        _ => (seconds / 60.0, "minutes"),
    };
    let text = format!("{number:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_read_as_people_say_them() {
        for (value, said) in [
            (json!("0s"), "no time at all"),
            (json!("0.0034s"), "3.4 ms"),
            (json!("2s"), "2 s"),
            (json!("340s"), "5.7 minutes"),
            (json!("web-1"), "web-1"),
            (json!("pods"), "pods"),
            (json!(41), "41"),
            (json!(["a", "b"]), "a, b"),
            (json!(true), "true"),
        ] {
            assert_eq!(shown(&value), said);
        }
    }

    #[test]
    fn braces_come_in_pairs() {
        let open = Environment::open();
        assert_eq!(parts("{a", &open).unwrap_err(), "a `{` without its `}`");
        assert_eq!(parts("a}", &open).unwrap_err(), "a `}` without its `{`");
        assert!(parts("{a b}", &open).unwrap_err().contains("Syntax error"));
        assert_eq!(parts("a {b} c", &open).unwrap().len(), 3);
    }
}
