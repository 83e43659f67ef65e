use coracle_expression::{Expression, Variables};
use serde_json::Value;

/// How many parts of an expression are shown.
const MOST_PARTS: usize = 6;
/// How many items of a list are shown.
const MOST_ITEMS: usize = 10;
/// Longer values are cut.
const LONGEST_VALUE: usize = 80;
/// In longer parts, arguments are left out.
const LONGEST_PART: usize = 60;

/// The parts of an expression with their values: `pods.size() = 1, nodes = [node-1]`. Objects are shown by name. A text
/// that `is_secret` may contain is not shown. Parts without a value are left out.
pub(crate) fn shown_parts<'v>(
    expression: &Expression,
    variables: impl Fn(&Expression) -> Variables<'v>,
    is_secret: impl Fn(&str) -> bool,
) -> String {
    let shown = |part: Expression| {
        let value = part.evaluate(&variables(&part)).ok()?;
        let hides = part.variables().iter().any(|name| is_secret(name));
        Some(format!("{} = {}", shortened(part.text()), shown_value(&value, hides)?))
    };
    let parts: Vec<String> = expression.parts().into_iter().take(MOST_PARTS).filter_map(shown).collect();
    parts.join(", ")
}

/// A part without line breaks, and without arguments if it is long: `pods.filter(…).size()`.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST_PART {
        return line;
    }
    let (mut short, mut depth, mut is_left_out) = (String::new(), 0usize, false);
    for sign in line.chars() {
        depth = depth.saturating_sub(usize::from(sign == ')'));
        if depth == 0 {
            short.push(sign);
            is_left_out = false;
        } else if !std::mem::replace(&mut is_left_out, true) {
            short.push('…');
        }
        depth += usize::from(sign == '(');
    }
    short
}

fn shown_value(value: &Value, hides: bool) -> Option<String> {
    match value {
        Value::Array(items) => {
            let names: Option<Vec<String>> =
                items.iter().take(MOST_ITEMS).map(|item| shown_value(item, hides)).collect();
            let more = items.len().saturating_sub(MOST_ITEMS);
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            Some(format!("[{}{more}]", names?.join(", ")))
        }
        Value::Object(fields) => match fields.get("metadata").and_then(|metadata| metadata.get("name")) {
            Some(Value::String(name)) => Some(name.clone()),
            _ if hides => None,
            _ => Some(cut(&value.to_string())),
        },
        Value::String(_) if hides => None,
        plain => Some(cut(&plain.to_string())),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST_VALUE {
        return text.to_owned();
    }
    text.chars().take(LONGEST_VALUE).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(text: &str, secret: &str) -> String {
        let pod = |name: &str| json!({"metadata": {"name": name}, "status": {"phase": "Running"}});
        let variables = |_: &Expression| {
            let mut variables = Variables::default();
            variables.set_owned("pods", json!([pod("web-1"), pod("web-2")]));
            variables.set_owned("secrets", json!([{"metadata": {"name": "s"}, "data": {"password": "hunter2"}}]));
            variables
        };
        shown_parts(&Expression::compile(text).unwrap(), variables, |name| name == secret)
    }

    #[test]
    fn parts_are_shown_with_their_values_and_objects_by_name() {
        assert_eq!(shown("pods.size() == 3 && pods.exists(p, p.a)", ""), "pods.size() = 2, pods = [web-1, web-2]");
        assert_eq!(
            shown("pods.all(p, p.metadata.name == 'web-1')", ""),
            "pods.filter(p, !(p.metadata.name == 'web-1')) = [web-2]"
        );
        assert_eq!(shown("pods[0].status.phase == 'Failed'", ""), "pods[0].status.phase = \"Running\"");
        assert_eq!(
            shown("pods.missing == 1 && pods.size() == 1", ""),
            "pods.size() = 2",
            "a part without a value is left out"
        );
    }

    #[test]
    fn arguments_of_a_long_part_are_left_out() {
        let long = "pods.filter(p, p.metadata.name == 'web-1' && p.status.phase == 'Running').size() == 2";
        assert_eq!(shown(long, ""), "pods.filter(…).size() = 1");
    }

    #[test]
    fn no_content_of_a_secret_is_shown() {
        assert_eq!(shown("secrets[0].data.password == 'x' && secrets.size() == 2", "secrets"), "secrets.size() = 1");
        assert_eq!(shown("secrets.map(s, s.data) == []", "secrets"), "");
        assert_eq!(shown("secrets == []", "secrets"), "secrets = [s]");
    }
}
