//! Reading and filling in JSON trees by the names of their fields.
//!
//! In Go a missing text is `""`, a missing number 0 and a missing list empty; so it is here, which is what lets the
//! rules of a kind be written down without a match on every step. Nothing here panics on a tree of another shape.

use serde_json::{Map, Value};

use crate::Object;

/// A JSON object.
pub type Tree = Map<String, Value>;

static NULL: Value = Value::Null;

/// Reads fields by name; a path of several names is written with dots.
pub trait Fields {
    /// The value of one field, `null` if it is missing.
    fn field_named(&self, name: &str) -> &Value;

    /// The value at a dotted path, `null` if a step is missing.
    fn at(&self, path: &str) -> &Value {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.field_named(first);
        if rest.is_empty() { value } else { value.at(rest) }
    }

    /// The text at a path; empty if it is missing.
    fn text(&self, path: &str) -> &str {
        self.at(path).as_str().unwrap_or("")
    }

    /// The integer at a path; 0 if it is missing.
    fn int(&self, path: &str) -> i64 {
        self.at(path).as_i64().unwrap_or(0)
    }

    /// The whole number at a path.
    fn int_if_set(&self, path: &str) -> Option<i64> {
        self.at(path).as_i64()
    }

    /// The boolean at a path; `false` if it is missing.
    fn flag(&self, path: &str) -> bool {
        self.at(path).as_bool().unwrap_or(false)
    }

    /// The list at a path; empty if it is missing.
    fn list(&self, path: &str) -> &[Value] {
        self.at(path).as_array().map_or(&[], Vec::as_slice)
    }

    /// The fields of the object at a path, in the order of their names.
    fn entries(&self, path: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.at(path).as_object().into_iter().flatten()
    }

    /// Whether there is a value other than `null` at a path. In Go: a pointer that is not nil.
    fn has(&self, path: &str) -> bool {
        !self.at(path).is_null()
    }
}

impl Fields for Value {
    fn field_named(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl Fields for Tree {
    fn field_named(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl Fields for Object {
    fn field_named(&self, name: &str) -> &Value {
        self.tree().get(name).unwrap_or(&NULL)
    }
}

/// Changes fields by name.
pub trait FieldsMut {
    /// The object in a field, to change.
    fn object_in(&mut self, name: &str) -> Option<&mut Tree>;

    /// The object in a field, made if the field is missing or null; `None` if it holds something else.
    fn object_made(&mut self, name: &str) -> Option<&mut Tree>;

    /// Sets a field that is missing or null.
    fn fill(&mut self, name: &str, value: impl Into<Value>);

    /// Sets a text field that is missing, null or empty.
    fn fill_text(&mut self, name: &str, value: &str);

    /// Sets a number that is missing, null or zero.
    fn fill_zero(&mut self, name: &str, value: i64);

    /// Calls `change` for every object in the list of a field.
    fn each_in(&mut self, name: &str, change: impl FnMut(&mut Tree));

    /// Drops fields.
    fn drop_fields(&mut self, names: &[&str]);
}

impl FieldsMut for Tree {
    fn object_in(&mut self, name: &str) -> Option<&mut Tree> {
        self.get_mut(name)?.as_object_mut()
    }

    fn object_made(&mut self, name: &str) -> Option<&mut Tree> {
        self.fill(name, Value::Object(Tree::new()));
        self.object_in(name)
    }

    fn fill(&mut self, name: &str, value: impl Into<Value>) {
        if self.field_named(name).is_null() {
            self.insert(name.to_owned(), value.into());
        }
    }

    fn fill_text(&mut self, name: &str, value: &str) {
        let slot = self.field_named(name);
        if slot.is_null() || slot.as_str() == Some("") {
            self.insert(name.to_owned(), value.into());
        }
    }

    fn fill_zero(&mut self, name: &str, value: i64) {
        let slot = self.field_named(name);
        if slot.is_null() || slot.as_i64() == Some(0) {
            self.insert(name.to_owned(), value.into());
        }
    }

    fn each_in(&mut self, name: &str, change: impl FnMut(&mut Tree)) {
        let list = self.get_mut(name).and_then(Value::as_array_mut);
        list.into_iter().flatten().filter_map(Value::as_object_mut).for_each(change);
    }

    fn drop_fields(&mut self, names: &[&str]) {
        for name in names {
            self.remove(*name);
        }
    }
}

/// Calls `change` with the object at a dotted path of an API object, if it is there.
pub fn edit_at(object: &mut Object, path: &str, change: impl FnOnce(&mut Tree)) {
    object.edit(|tree| {
        let found = path.split('.').try_fold(tree, |tree, step| tree.object_in(step));
        if let Some(found) = found {
            change(found);
        }
    });
}

/// Calls `change` with the `spec`, made if it is missing.
pub fn edit_spec(object: &mut Object, change: impl FnOnce(&mut Tree)) {
    object.edit(|tree| {
        if let Some(spec) = tree.object_made("spec") {
            change(spec);
        }
    });
}
