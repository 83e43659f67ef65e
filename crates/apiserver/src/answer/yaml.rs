use serde_json::Value;

use crate::answer::yaml_text::write_text;

/// Writes a JSON value as YAML: block style, keys in their order, text as `yaml_text` writes it.
///
/// In Kubernetes: `sigs.k8s.io/yaml`, whose emitter is that of go-yaml 2.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_block(value, 0, &mut out),
        Value::Array(list) if !list.is_empty() => write_block(value, 0, &mut out),
        scalar => {
            write_scalar(scalar, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

fn write_block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) => {
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    push_indent(indent, out);
                }
                write_text(key, None, out);
                out.push(':');
                write_item(item, indent, Below::Mapping, out);
            }
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    push_indent(indent, out);
                }
                out.push('-');
                write_item(item, indent, Below::Sequence, out);
            }
        }
        scalar => {
            write_scalar(scalar, indent, out);
            out.push('\n');
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Mapping,
    Sequence,
}

fn write_item(item: &Value, indent: usize, below: Below, out: &mut String) {
    match (item, below) {
        (Value::Object(map), Below::Mapping) if !map.is_empty() => {
            out.push('\n');
            push_indent(indent + 2, out);
            write_block(item, indent + 2, out);
        }
        // A list in a mapping has the mapping's own indentation, as in Kubernetes.
        (Value::Array(list), Below::Mapping) if !list.is_empty() => {
            out.push('\n');
            push_indent(indent, out);
            write_block(item, indent, out);
        }
        (Value::Object(map), Below::Sequence) if !map.is_empty() => {
            out.push(' ');
            write_block(item, indent + 2, out);
        }
        (Value::Array(list), Below::Sequence) if !list.is_empty() => {
            out.push(' ');
            write_block(item, indent + 2, out);
        }
        (scalar, _) => {
            out.push(' ');
            write_scalar(scalar, indent, out);
            out.push('\n');
        }
    }
}

fn push_indent(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn write_scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) => write_text(text, Some(indent + 2), out),
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    }
}
