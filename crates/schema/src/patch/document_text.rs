use std::collections::BTreeMap;

use coracle_meta::go_json;
use serde_json::Value;

use crate::table::{TypeNode, TypeRef};

/// The parts of a document that a patch has opened, by the steps from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    below: BTreeMap<String, Touched>,
    /// Whether the patch has added this part.
    is_new: bool,
}

impl Touched {
    /// The part one step below.
    pub(super) fn below(&mut self, step: &str) -> &mut Self {
        self.below.entry(step.to_owned()).or_default()
    }

    /// The parts that a merge patch opens: the objects that it has in common with the document.
    pub fn by_merge(document: &Value, patch: &Value) -> Self {
        let mut touched = Self::default();
        for (name, part) in patch.as_object().into_iter().flatten() {
            let below = match document.get(name) {
                Some(there @ Value::Object(_)) if part.is_object() => Self::by_merge(there, part),
                _ => Self { is_new: true, ..Self::default() },
            };
            touched.below.insert(name.clone(), below);
        }
        touched
    }
}

/// A patched document as messages quote it: opened parts have their members sorted by name, and all other parts have
/// the order of Go structs.
///
/// In Kubernetes: the result of `evanphx/json-patch` for the encoded object.
pub fn document_text(root: Option<TypeRef<'_>>, document: &Value, touched: &Touched) -> String {
    let mut text = String::new();
    print(root, document, Some(touched), &mut text);
    go_json(&text)
}

fn print(ty: Option<TypeRef<'_>>, value: &Value, touched: Option<&Touched>, text: &mut String) {
    match value {
        Value::Object(fields) => {
            // Parts that a patch has added have lost their order.
            let structure = match (touched, ty.map(TypeRef::node)) {
                (None, Some(TypeNode::Struct(structure))) => Some(structure),
                _ => None,
            };
            let place =
                |name: &str| structure.and_then(|known| known.field(name)).map_or(usize::MAX, |field| field.place);
            let mut fields: Vec<_> = fields.iter().collect();
            if structure.is_some() {
                fields.sort_by_key(|(name, _)| place(name));
            }
            text.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                print(ty.and_then(|ty| ty.step(name)), value, below(touched, name), text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                print(ty.and_then(TypeRef::element), item, below(touched, &at.to_string()), text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn below<'t>(touched: Option<&'t Touched>, step: &str) -> Option<&'t Touched> {
    let touched = touched?;
    if touched.is_new { Some(touched) } else { touched.below.get(step) }
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::Table;
    use crate::patch::JsonPatch;

    #[test]
    fn unchanged_fields_have_the_order_of_go() {
        let schema = Table::newest().kind(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
        let document = json!({
            "metadata": {"name": "p", "labels": {"b": "<", "a": "1"}, "uid": "u"},
            "spec": {"nodeName": "n", "containers": [{"image": "i", "name": "c"}]},
        });
        let patch = json!([{"op": "replace", "path": "/spec/nodeName", "value": "n"}]);
        let touched = JsonPatch::parse(patch).unwrap().0.touched();
        assert_eq!(
            document_text(Some(schema.root()), &document, &touched),
            concat!(
                r#"{"metadata":{"name":"p","uid":"u","labels":{"a":"1","b":"\u003c"}},"#,
                r#""spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n"}}"#,
            )
        );
        let merged = Touched::by_merge(&document, &json!({"metadata": {"uid": "u"}, "spec": []}));
        assert_eq!(
            document_text(Some(schema.root()), &json!({"metadata": {"name": "p", "annotations": {}}}), &merged),
            r#"{"metadata":{"annotations":{},"name":"p"}}"#
        );
    }
}
