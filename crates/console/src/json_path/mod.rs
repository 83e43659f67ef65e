//! Templates of JSONPath: `{.metadata.name}`, `{range .items[*]}{.kind}{"\n"}{end}`.
//!
//! In Kubernetes: `client-go/util/jsonpath`.

mod compare;
mod evaluate;
mod nodes;
mod parser;

use std::borrow::Cow;

use coracle_meta::go_json;
use serde_json::Value;

use self::nodes::Node;
use crate::values::show;

/// A parsed template.
#[derive(Clone, Debug)]
pub(crate) struct JsonPath {
    nodes: Vec<Node>,
}

impl JsonPath {
    /// Parses a template.
    ///
    /// # Errors
    /// The message of the parser of Kubernetes.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { nodes: parser::parse(text)? })
    }

    /// A path without its braces or its first dot. In Kubernetes: `get.RelaxedJSONPathExpression`.
    ///
    /// # Errors
    /// If it is not a path.
    pub(crate) fn relaxed(text: &str) -> Result<String, String> {
        if text.is_empty() {
            return Ok(String::new());
        }
        let inner = match text.strip_prefix('{') {
            Some(rest) => rest.strip_suffix('}'),
            None => (!text.ends_with('}')).then_some(text),
        };
        let inner = inner.map(|inner| inner.strip_prefix('.').unwrap_or(inner));
        match inner.filter(|inner| !inner.contains(['{', '}'])) {
            Some(inner) => Ok(format!("{{.{inner}}}")),
            None => Err("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
                         '{.name1.name2}'"
                .to_owned()),
        }
    }

    /// The values of each part of the template.
    ///
    /// # Errors
    /// The message of Kubernetes.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Result<Vec<Vec<Cow<'v, Value>>>, String> {
        evaluate::find(&self.nodes, value)
    }

    /// The first value, if there is one.
    pub(crate) fn first(&self, value: &Value) -> Result<Option<Value>, String> {
        Ok(self.find(value)?.into_iter().next().and_then(|found| found.into_iter().next()).map(Cow::into_owned))
    }

    /// The text of the template for a value.
    ///
    /// # Errors
    /// The message of Kubernetes.
    pub(crate) fn render(&self, value: &Value) -> Result<String, String> {
        let mut out = String::new();
        for found in self.find(value)? {
            let texts: Vec<String> = found.iter().map(|value| printed(value)).collect();
            out.push_str(&texts.join(" "));
        }
        Ok(out)
    }
}

/// A value as templates print it.
fn printed(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => go_json(&value.to_string()),
        Value::Null => "null".to_owned(),
        scalar => show(scalar),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "kind": "List", "n": 3, "s": {"a.b": "dotted"},
            "items": [
                {"name": "a", "n": 1, "ready": true, "tags": ["x", "y"]},
                {"name": "b", "n": 2, "ready": false, "tags": []},
            ],
        })
    }

    #[test]
    fn templates_are_rendered_as_by_kubernetes() {
        for (template, text) in [
            ("kind is {.kind}", "kind is List"),
            ("{.items[*].name}", "a b"),
            ("{.items[0].tags}", r#"["x","y"]"#),
            ("{.items[-1:].name}", "b"),
            ("{.items[0:2].n}", "1 2"),
            ("{..name}", "a b"),
            (r#"{range .items[*]}{.name}={.n}{"\n"}{end}"#, "a=1\nb=2\n"),
            (r#"{range .items[*]}[{.name}, {.n}] {end}"#, "[a, 1] [b, 2] "),
            (r#"{.items[?(@.name=="b")].n}"#, "2"),
            ("{.items[?(@.n>1)].name}", "b"),
            ("{.items[?(@.ready==true)].name}", "a"),
            ("{.items[?(@.tags[0])].name}", "a"),
            ("{.items[*]['name','n']}", "a b 1 2"),
            (r"{.s.a\.b}", "dotted"),
            ("{.none.at.all}", ""),
            ("{$.kind}", "List"),
            ("{.items[*].none}", ""),
            ("plain", "plain"),
        ] {
            assert_eq!(JsonPath::parse(template).unwrap().render(&object()).unwrap(), text, "{template}");
        }
    }

    #[test]
    fn what_cannot_be_read_or_found_has_the_message_of_kubernetes() {
        for (template, message) in [
            ("{", "unclosed action"),
            ("{.a[", "unterminated array"),
            ("{.a[x]}", "invalid array index x"),
            ("{&}", "unrecognized character in action: U+0026 '&'"),
            ("{.a[?(@.b==\"]}", "unterminated filter"),
            ("{\"a", "unterminated quoted string"),
            ("{....a}", "invalid multiple recursive descent"),
        ] {
            assert_eq!(JsonPath::parse(template).unwrap_err(), message, "{template}");
        }
        let out_of_bounds = JsonPath::parse("{.items[5]}").unwrap().render(&object()).unwrap_err();
        assert_eq!(out_of_bounds, "array index out of bounds: index 5, length 2");
        let unknown = JsonPath::parse("{foo}").unwrap().render(&object()).unwrap_err();
        assert_eq!(unknown, "unrecognized identifier foo");
    }

    #[test]
    fn paths_can_leave_out_braces_and_the_first_dot() {
        for text in ["a.b", ".a.b", "{a.b}", "{.a.b}"] {
            assert_eq!(JsonPath::relaxed(text).unwrap(), "{.a.b}");
        }
        assert!(JsonPath::relaxed("{a").is_err());
    }

    proptest! {
        #[test]
        fn no_template_panics(text in r#"[{}.\[\]a1*?(@='"$: ,<>rangend-]{0,20}"#) {
            if let Ok(path) = JsonPath::parse(&text) {
                let _ = path.render(&json!({"a": [1, {"a": 1}], "r": {"n": "x"}}));
            }
        }
    }
}
