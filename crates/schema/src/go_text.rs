use coracle_meta::go_quote;
use serde_json::{Number, Value};

/// Prints a value like Go's `%v`: `map[image:nginx name:web]`, `[a b]`, `<nil>`. Messages of the API quote values so.
pub fn go_text(value: &Value) -> String {
    let mut out = String::new();
    print(value, &mut out);
    out
}

fn print(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Bool(value) => out.push_str(&value.to_string()),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                print(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                print(field, out);
            }
            out.push(']');
        }
    }
}

/// Prints a value like Go's `%#v`: `map[string]interface {}{"a":1}`, `[]interface {}{"x"}`.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => go_quote(text),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_text(number),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{}:{}", go_quote(name), go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// The type of a map's value as Go's `%T` prints it.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Floats have an exponent if it is less than -4 or at least 21.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if exponent < -4 => format!("{digits}e-{:02}", -exponent),
        Ok(exponent) if exponent >= 21 => format!("{digits}e+{exponent:02}"),
        _ => float.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_print_as_in_go() {
        assert_eq!(go_text(&json!({"b": [1, "x", null], "a": {"c": true}})), "map[a:map[c:true] b:[1 x <nil>]]");
        assert_eq!(go_text(&json!([1000.0, 1e30, 1.5e-7, 0.25])), "[1000 1e+30 1.5e-07 0.25]");
        let written = r#"map[string]interface {}{"a":[]interface {}{"x\"", 1.5}, "b":interface {}(nil)}"#;
        assert_eq!(go_syntax(&json!({"b": null, "a": ["x\"", 1.5]})), written);
    }
}
