use coracle_registry::Stored;
use coracle_yaml::to_yaml;
use serde_json::{Map, Value};

use crate::answer::render::Rendering;

/// The size of a chunk.
const CHUNK: usize = 64 * 1024;

/// The layout of a list whose items cannot be copied as rendered JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// YAML.
    Yaml,
    /// JSON with an indentation of two spaces.
    Pretty,
}

/// The bytes of a list in chunks, item by item. Together they equal the list written as one value.
pub(super) struct ListText {
    layout: Layout,
    rendering: Rendering,
    /// Written text that has not been returned yet.
    pending: String,
    items: std::vec::IntoIter<Stored>,
    is_first: bool,
    /// The text after the items; `None` when everything is written.
    tail: Option<String>,
}

impl ListText {
    /// A list whose items are in `member` among the fields of `head`.
    pub(super) fn new(
        layout: Layout,
        rendering: Rendering,
        head: Map<String, Value>,
        member: &str,
        items: Vec<Stored>,
    ) -> Self {
        let (before, after) = around(layout, head, member);
        Self { layout, rendering, pending: before, items: items.into_iter(), is_first: true, tail: Some(after) }
    }
}

impl Iterator for ListText {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.tail.as_ref()?;
        let mut chunk = std::mem::take(&mut self.pending);
        let mut bytes = Vec::new();
        while chunk.len() < CHUNK {
            let Some(item) = self.items.next() else {
                chunk.push_str(&self.tail.take().unwrap_or_default());
                break;
            };
            bytes.clear();
            self.rendering.push_item(&item, &mut bytes);
            let value = coracle_meta::json::from_slice(&bytes).unwrap_or(Value::Null);
            push_item(self.layout, std::mem::take(&mut self.is_first), value, &mut chunk);
        }
        Some(chunk.into_bytes())
    }
}

/// The text before and after the items; fields are sorted.
fn around(layout: Layout, head: Map<String, Value>, member: &str) -> (String, String) {
    let (before, after): (Map<_, _>, Map<_, _>) = head.into_iter().partition(|(name, _)| name.as_str() < member);
    let (has_before, has_after) = (!before.is_empty(), !after.is_empty());
    let [before, after] = [before, after].map(Value::Object);
    match layout {
        Layout::Yaml => {
            let text = |fields: &Value, is_there: bool| if is_there { to_yaml(fields) } else { String::new() };
            (text(&before, has_before) + member + ":\n", text(&after, has_after))
        }
        Layout::Pretty => {
            let pretty = |fields: &Value| serde_json::to_string_pretty(fields).unwrap_or_default();
            let mut start = "{\n".to_owned();
            if has_before {
                start = pretty(&before);
                // The end of the object.
                start.truncate(start.len() - "\n}".len());
                start.push_str(",\n");
            }
            start.push_str(&format!("  \"{member}\": ["));
            let mut end = "\n  ]".to_owned();
            if has_after {
                end.push(',');
                end.push_str(&pretty(&after)["{".len()..]);
            } else {
                end.push_str("\n}");
            }
            end.push('\n');
            (start, end)
        }
    }
}

fn push_item(layout: Layout, is_first: bool, item: Value, out: &mut String) {
    match layout {
        Layout::Yaml => out.push_str(&to_yaml(&Value::Array(vec![item]))),
        Layout::Pretty => {
            out.push_str(if is_first { "\n    " } else { ",\n    " });
            // Line ends in texts are escaped.
            out.push_str(&serde_json::to_string_pretty(&item).unwrap_or_default().replace('\n', "\n    "));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_that_is_written_item_by_item_is_the_list_as_one_value() {
        let items = [
            json!({"metadata": {"name": "a", "labels": {}}, "data": {"k": "line\nbreak\n", "z": "}\n{"}, "list": [[1], []]}),
            json!({}),
            json!("text: x"),
            json!(null),
        ];
        let heads = [
            (json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}), "items"),
            (json!({"kind": "Table", "apiVersion": "v1", "columnDefinitions": [{"name": "a"}]}), "rows"),
            (json!({"a": {}}), "items"),
            (json!({"z": {}}), "items"),
        ];
        for (head, member) in heads {
            let Value::Object(head) = head else { unreachable!() };
            let mut whole = head.clone();
            whole.insert(member.to_owned(), items.to_vec().into());
            let whole = Value::Object(whole);
            let pretty = serde_json::to_string_pretty(&whole).unwrap() + "\n";
            for (layout, expected) in [(Layout::Yaml, to_yaml(&whole)), (Layout::Pretty, pretty)] {
                let (mut written, after) = around(layout, head.clone(), member);
                for (at, item) in items.iter().enumerate() {
                    push_item(layout, at == 0, item.clone(), &mut written);
                }
                written.push_str(&after);
                assert_eq!(written, expected);
            }
        }
    }
}
