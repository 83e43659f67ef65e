//! Changes of an object's finalizers. In KWOK: `lifecycle.finalizersModify`.

use coracle_yaml::{At, UnreadFields, YamlError};
use serde_json::{Value as Json, json};

/// The finalizers to add, and those to remove before.
#[derive(Clone, Debug)]
pub(crate) struct Finalizers {
    add: Vec<String>,
    remove: Vec<String>,
    removes_all: bool,
}

impl Finalizers {
    pub(crate) fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let finalizers = Self {
            add: names(&mut fields, "add")?,
            remove: names(&mut fields, "remove")?,
            removes_all: fields.flag("empty")?,
        };
        fields.end()?;
        Ok(finalizers)
    }

    /// A JSON patch; none if nothing changes.
    pub(crate) fn operations(&self, object: &Json) -> Option<Json> {
        let known: Vec<&str> = object["metadata"]["finalizers"]
            .as_array()
            .map(|names| names.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        let is_removed = |name: &&str| self.remove.iter().any(|removed| removed == name);
        let removes_all = self.removes_all || !self.remove.is_empty() && known.iter().all(is_removed);
        let mut operations = Vec::new();
        if removes_all && !known.is_empty() {
            operations.push(json!({"op": "remove", "path": "/metadata/finalizers"}));
        } else if !removes_all {
            let removed = known.iter().enumerate().rev().filter(|(_, name)| is_removed(name));
            operations
                .extend(removed.map(|(at, _)| json!({"op": "remove", "path": format!("/metadata/finalizers/{at}")})));
        }
        if removes_all || known.is_empty() {
            if !self.add.is_empty() {
                operations.push(json!({"op": "add", "path": "/metadata/finalizers", "value": self.add}));
            }
        } else {
            let added = self.add.iter().filter(|name| !known.contains(&name.as_str()));
            operations.extend(added.map(|name| json!({"op": "add", "path": "/metadata/finalizers/-", "value": name})));
        }
        (!operations.is_empty()).then_some(Json::Array(operations))
    }
}

fn names(fields: &mut UnreadFields<'_>, field: &str) -> Result<Vec<String>, YamlError> {
    let name = |place: &At<'_>| {
        let mut fields = place.fields()?;
        let value = fields.need("value")?.text()?.to_owned();
        fields.end()?;
        Ok(value)
    };
    fields.items(field)?.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(known: &[&str], add: &[&str], remove: &[&str], removes_all: bool, expected: Json) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let finalizers = Finalizers { add: owned(add), remove: owned(remove), removes_all };
        let object = json!({"metadata": {"finalizers": known}});
        assert_eq!(finalizers.operations(&object).unwrap_or_default(), expected);
    }

    #[test]
    fn finalizers_change_as_in_kwok() {
        let (all, whole) = (json!({"op": "remove", "path": "/metadata/finalizers"}), "/metadata/finalizers");
        gives(&[], &["a"], &[], false, json!([{"op": "add", "path": whole, "value": ["a"]}]));
        gives(&["a"], &["a", "b"], &[], false, json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "b"}]));
        gives(
            &["a", "b", "c"],
            &[],
            &["a", "c"],
            false,
            json!([
                {"op": "remove", "path": "/metadata/finalizers/2"}, {"op": "remove", "path": "/metadata/finalizers/0"},
            ]),
        );
        gives(&["a"], &["b"], &["a"], false, json!([all, {"op": "add", "path": whole, "value": ["b"]}]));
        gives(&["a"], &[], &[], true, json!([all]));
        gives(&[], &[], &[], true, Json::Null);
    }
}
