use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{FieldPath, GroupVersion, GroupVersionKind, ObjectKey, ObjectMeta, OwnerReference, Verbatim};

/// An object of the API as the server side handles it: a JSON object, with typed access to its metadata.
///
/// Built-in and custom kinds look alike here. Invariant: the tree is a JSON object, and `metadata`, if present, is one.
///
/// ```
/// use coracle_meta::Object;
/// use serde_json::json;
///
/// let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "web"}});
/// let mut pod = Object::from_value(pod).unwrap();
/// pod.set("spec.nodeName", "node-1");
/// assert_eq!((pod.key().to_string().as_str(), pod.text("spec.nodeName")), ("default/web", "node-1"));
/// assert!(Object::from_value(json!([1, 2])).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Object {
    /// Always an object.
    value: Value,
    verbatim: Verbatim,
    /// See [`Object::is_checked`].
    is_checked: bool,
}

impl Default for Object {
    fn default() -> Self {
        Self::of_value(Value::Object(Map::new()))
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        (&self.value, &self.verbatim) == (&other.value, &other.verbatim)
    }
}

/// The JSON value is not an object with a `metadata` object.
#[derive(Debug, thiserror::Error)]
#[error("not an API object: {why}")]
pub struct NotAnObject {
    why: &'static str,
}

impl Object {
    /// An object with only `apiVersion` and `kind`.
    pub fn of_kind(kind: &GroupVersionKind) -> Self {
        let mut object = Self::default();
        object.set_kind(kind);
        object
    }

    /// Takes a JSON value, which has to be an object whose `metadata` is absent, null or an object.
    pub fn from_value(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(tree) => Self::from_tree(tree),
            _ => Err(NotAnObject { why: "the value is not a JSON object" }),
        }
    }

    /// Takes a JSON object, whose `metadata` has to be absent, null or an object.
    pub fn from_tree(mut tree: Map<String, Value>) -> Result<Self, NotAnObject> {
        match tree.get("metadata") {
            None | Some(Value::Object(_)) => {}
            Some(Value::Null) => {
                tree.remove("metadata");
            }
            Some(_) => return Err(NotAnObject { why: "metadata is not a JSON object" }),
        }
        Ok(Self::of_value(Value::Object(tree)))
    }

    fn of_value(value: Value) -> Self {
        Self { value, verbatim: Verbatim::default(), is_checked: false }
    }

    /// The same object, after a write of this process has checked it.
    #[must_use]
    pub fn checked(self) -> Self {
        Self { is_checked: true, ..self }
    }

    /// Whether a write of this process has checked the object as it is: its metadata is valid, and it has the form in
    /// which its kind is stored. A change of anything but the version ends that. Equality ignores it.
    pub fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// The JSON object.
    pub fn tree(&self) -> &Map<String, Value> {
        self.value.as_object().expect("the value is always an object")
    }

    fn tree_mut(&mut self) -> &mut Map<String, Value> {
        self.is_checked = false;
        self.value.as_object_mut().expect("the value is always an object")
    }

    /// The JSON object, as a value.
    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// Gives the JSON object back.
    pub fn into_tree(mut self) -> Map<String, Value> {
        std::mem::take(self.tree_mut())
    }

    /// Gives the JSON value back.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// A copy as a JSON value.
    pub fn to_value(&self) -> Value {
        self.value.clone()
    }

    /// Changes the JSON object freely; a `metadata` that is no object afterwards is dropped.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut Map<String, Value>) -> R) -> R {
        let result = change(self.tree_mut());
        if self.tree().get("metadata").is_some_and(|metadata| !metadata.is_object()) {
            self.tree_mut().remove("metadata");
        }
        result
    }

    /// How the foreign objects inside were written.
    pub fn verbatim(&self) -> &Verbatim {
        &self.verbatim
    }

    /// The same object with other texts of its foreign objects; texts of objects that it does not contain are dropped.
    #[must_use]
    pub fn with_verbatim(mut self, verbatim: Verbatim) -> Self {
        self.verbatim = verbatim;
        self.verbatim.retain_values_of(&self.value);
        self
    }

    /// The value at a path; `None` where a step is missing or not an object.
    pub fn field(&self, path: impl FieldPath) -> Option<&Value> {
        path.names().try_fold(&self.value, |value, name| value.get(name))
    }

    /// The text at a path; empty if it is missing or no text.
    pub fn text(&self, path: impl FieldPath) -> &str {
        self.field(path).and_then(Value::as_str).unwrap_or("")
    }

    /// The whole number at a path.
    pub fn number(&self, path: impl FieldPath) -> Option<i64> {
        self.field(path).and_then(Value::as_i64)
    }

    /// Sets the value at a path, and creates missing objects on the path (and replaces other values on it).
    ///
    /// # Panics
    /// If the path is empty.
    pub fn set(&mut self, path: impl FieldPath, value: impl Into<Value>) {
        let mut names = path.names().peekable();
        let mut name = names.next().expect("a path has at least one name");
        let mut tree = self.tree_mut();
        while names.peek().is_some() {
            let slot = tree.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            tree = slot.as_object_mut().expect("the slot was just made an object");
            name = names.next().unwrap_or(name);
        }
        tree.insert(name.to_owned(), value.into());
    }

    /// Removes and returns the value at a path.
    pub fn remove(&mut self, path: impl FieldPath) -> Option<Value> {
        let mut names = path.names();
        let mut name = names.next()?;
        let mut tree = self.tree_mut();
        for next in names {
            tree = tree.get_mut(name)?.as_object_mut()?;
            name = next;
        }
        tree.remove(name)
    }

    /// Sets the value at a path, or removes the existing value for `None`.
    ///
    /// # Panics
    /// If the path is empty.
    pub fn set_or_remove(&mut self, path: impl FieldPath, value: Option<Value>) {
        match value {
            Some(value) => self.set(path, value),
            None => drop(self.remove(path)),
        }
    }

    /// `apiVersion`.
    pub fn api_version(&self) -> &str {
        self.text("apiVersion")
    }

    /// `kind`.
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// `apiVersion` and `kind` together; `None` if `apiVersion` is not one.
    pub fn group_version_kind(&self) -> Option<GroupVersionKind> {
        Some(GroupVersion::parse(self.api_version())?.kind(self.kind()))
    }

    /// Sets `apiVersion` and `kind`.
    pub fn set_kind(&mut self, kind: &GroupVersionKind) {
        self.set("apiVersion", kind.api_version());
        self.set("kind", kind.kind.clone());
    }

    /// `metadata.name`, or empty.
    pub fn name(&self) -> &str {
        self.text("metadata.name")
    }

    /// `metadata.namespace`, or empty.
    pub fn namespace(&self) -> &str {
        self.text("metadata.namespace")
    }

    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// `metadata.uid`, or empty.
    pub fn uid(&self) -> &str {
        self.text("metadata.uid")
    }

    /// `metadata.resourceVersion`, or empty.
    pub fn resource_version(&self) -> &str {
        self.text("metadata.resourceVersion")
    }

    /// Sets `metadata.resourceVersion`.
    pub fn set_resource_version(&mut self, version: impl Into<String>) {
        let is_checked = self.is_checked;
        self.set("metadata.resourceVersion", version.into());
        self.is_checked = is_checked;
    }

    /// `metadata.generation`, or 0.
    pub fn generation(&self) -> i64 {
        self.number("metadata.generation").unwrap_or(0)
    }

    /// `metadata.deletionTimestamp`.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.field("metadata.deletionTimestamp")?.as_str()
    }

    /// Whether the object's deletion has begun.
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp().is_some()
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> Vec<String> {
        self.texts("metadata.finalizers")
    }

    /// Sets `metadata.finalizers`; an empty list removes the field.
    pub fn set_finalizers(&mut self, finalizers: Vec<String>) {
        if finalizers.is_empty() {
            self.remove("metadata.finalizers");
        } else {
            self.set("metadata.finalizers", finalizers);
        }
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.field(&["metadata", "labels", name])?.as_str()
    }

    /// All labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.text_map("metadata.labels")
    }

    /// One annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.field(&["metadata", "annotations", name])?.as_str()
    }

    /// The valid entries of `metadata.ownerReferences`.
    pub fn owner_references(&self) -> Vec<OwnerReference> {
        let list = self.field("metadata.ownerReferences").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|owner| serde_json::from_value(owner.clone()).ok()).collect()
    }

    /// The metadata as a typed copy; what does not fit its type is left out whole.
    pub fn meta(&self) -> ObjectMeta {
        self.tree().get("metadata").and_then(|meta| ObjectMeta::deserialize(meta).ok()).unwrap_or_default()
    }

    /// The texts of a list at a path.
    pub fn texts(&self, path: impl FieldPath) -> Vec<String> {
        let list = self.field(path).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// The texts of a map at a path.
    pub fn text_map(&self, path: impl FieldPath) -> BTreeMap<String, String> {
        let map = self.field(path).and_then(Value::as_object);
        map.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = Map::deserialize(deserializer)?;
        Self::from_tree(tree).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn set_makes_the_objects_on_the_way_and_remove_undoes_it() {
        let mut object = Object::default();
        object.set("metadata.labels.app", "web");
        assert_eq!(object.label("app"), Some("web"));
        assert_eq!(object.remove("metadata.labels.app"), Some(json!("web")));
        assert_eq!(object.label("app"), None);
    }

    #[test]
    fn any_change_but_that_of_the_version_ends_that_an_object_is_checked() {
        let object = Object::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        assert!(!object.is_checked());
        let checked = object.clone().checked();
        assert!(checked.is_checked() && checked.clone().is_checked() && checked == object);
        let after = |change: fn(&mut Object)| {
            let mut object = checked.clone();
            change(&mut object);
            object.is_checked()
        };
        assert!(after(|object| object.set_resource_version("7")));
        assert!(!after(|object| object.set("spec.a", 1)));
        assert!(!after(|object| drop(object.remove("metadata.name"))));
        assert!(!after(|object| object.edit(|_| ())));
        assert!(!after(|object| object.set_kind(&GroupVersionKind::new("", "v1", "Pod"))));
        assert!(!Object::from_value(checked.into_value()).unwrap().is_checked());
    }

    #[test]
    fn metadata_that_is_no_object_is_refused() {
        assert!(Object::from_value(json!({"metadata": 1})).is_err());
        assert!(Object::from_value(json!([])).is_err());
        assert_eq!(Object::from_value(json!({"metadata": null})).unwrap(), Object::default());
    }
}
