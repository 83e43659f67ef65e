use serde_json::Value;

use crate::scalar::write_text;

/// A JSON value as YAML: block style, keys in their order, text quoted as go-yaml quotes it.
///
/// In Kubernetes: `sigs.k8s.io/yaml`, whose emitter is that of go-yaml 2.
///
/// ```
/// let value = serde_json::json!({"ports": [80], "size": "1"});
/// assert_eq!(coracle_yaml::to_yaml(&value), "ports:\n- 80\nsize: \"1\"\n");
/// ```
pub fn to_yaml(value: &Value) -> String {
    to_yaml_up_to(value, usize::MAX)
}

/// As [`to_yaml`], but what is nested deeper than `deepest` levels is written as JSON, which is valid YAML: each level
/// of a block indents all lines below it.
pub fn to_yaml_up_to(value: &Value, deepest: usize) -> String {
    let mut out = String::new();
    write_block(value, Level { indent: 0, left: deepest }, &mut out);
    out
}

/// Where a value is written.
#[derive(Clone, Copy)]
struct Level {
    /// Its column.
    indent: usize,
    /// How many more levels are written as blocks.
    left: usize,
}

impl Level {
    fn below(self, indent: usize) -> Self {
        Self { indent: self.indent + indent, left: self.left - 1 }
    }

    fn push_indent(self, out: &mut String) {
        out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Whether a value is written as a block here.
    fn has_block(self, value: &Value) -> bool {
        self.left > 0
            && match value {
                Value::Object(map) => !map.is_empty(),
                Value::Array(list) => !list.is_empty(),
                _ => false,
            }
    }
}

fn write_block(value: &Value, level: Level, out: &mut String) {
    match value {
        Value::Object(map) if level.has_block(value) => {
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    level.push_indent(out);
                }
                write_text(key, None, out);
                out.push(':');
                // A list in a mapping has the mapping's own indentation, as Kubernetes prints it.
                let below = level.below(if item.is_array() { 0 } else { 2 });
                if below.has_block(item) {
                    out.push('\n');
                    below.push_indent(out);
                    write_block(item, below, out);
                } else {
                    write_scalar_item(item, level, out);
                }
            }
        }
        Value::Array(list) if level.has_block(value) => {
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    level.push_indent(out);
                }
                out.push('-');
                let below = level.below(2);
                if below.has_block(item) {
                    out.push(' ');
                    write_block(item, below, out);
                } else {
                    write_scalar_item(item, level, out);
                }
            }
        }
        other => {
            write_scalar(other, level.indent, out);
            out.push('\n');
        }
    }
}

fn write_scalar_item(item: &Value, level: Level, out: &mut String) {
    out.push(' ');
    write_scalar(item, level.indent, out);
    out.push('\n');
}

fn write_scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) => write_text(text, Some(indent + 2), out),
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::node::YamlNode;

    #[test]
    fn objects_and_lists_are_written_in_block_style() {
        let value = json!({
            "apiVersion": "v1", "empty": {}, "none": null, "size": 1,
            "list": [{"name": "a", "ports": [80, 443]}, ["x"], []],
            "quoted": ["yes", "1", "a: b", "", "line\nbreak"]
        });
        let yaml = to_yaml(&value);
        assert_eq!(
            yaml,
            "apiVersion: v1\nempty: {}\nlist:\n- name: a\n  ports:\n  - 80\n  - 443\n- - x\n- []\nnone: null\nquoted:\n- \"yes\"\n- \"1\"\n- 'a: b'\n- \"\"\n- |-\n  line\n  break\nsize: 1\n"
        );
        assert_eq!(to_yaml(&json!({})), "{}\n");
        assert_eq!(to_yaml(&json!("a: b")), "'a: b'\n");
    }

    #[test]
    fn deep_levels_are_written_as_json() {
        let value = json!({"a": [{"b": {"c": 1}}]});
        assert_eq!(to_yaml_up_to(&value, 3), "a:\n- b: {\"c\":1}\n");
        assert_eq!(to_yaml_up_to(&value, 2), "a:\n- {\"b\":{\"c\":1}}\n");
        assert_eq!(to_yaml_up_to(&value, 0), "{\"a\":[{\"b\":{\"c\":1}}]}\n");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            prop::sample::select(vec![
                "yes", "no", "~", "0x1", "1e3", "on", "null", "- a", "a: b", "# c", ".5", "0o7", "nan", "inf", "NaN",
                "Infinity", "1_0", "0x", "0o8", "=", "y", "12:30", "+1", "1.",
            ])
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z~]{1,4}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in any_json(), deepest in 0..6_usize) {
            let text = to_yaml_up_to(&value, deepest);
            prop_assert_eq!(Value::from(&YamlNode::parse(&text).unwrap()), value, "{}", text);
        }
    }
}
