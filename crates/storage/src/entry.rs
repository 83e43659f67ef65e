use std::sync::Arc;

use bytes::Bytes;
use coracle_meta::{FieldSelector, LabelSelector, Object};
use coracle_store::Revision;
use serde_json::Value;

use crate::{NotStorable, Resource, Selection, Stored};

/// A stored object with its labels and fields for selectors, extracted once.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) stored: Stored,
    selectable: Arc<Selectable>,
}

/// Labels and selectable fields in a compact form: there is one for every cached object.
#[derive(Debug, Default)]
pub(crate) struct Selectable {
    /// The name and the value of each label, then the fields in the order of [`Resource::selectable`].
    text: Box<str>,
    /// The end of each of these.
    ends: Box<[u32]>,
    labels: usize,
}

impl Selectable {
    pub(crate) fn of(resource: &Resource, object: &Object) -> Self {
        let labels = object.field("metadata.labels").and_then(Value::as_object);
        let labels: Vec<(&str, &str)> =
            labels.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
        let (mut text, mut ends) = (String::new(), Vec::new());
        let mut add = |part: &str| {
            text.push_str(part);
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        };
        labels.iter().flat_map(|(name, value)| [name, value]).for_each(|part| add(part));
        resource.selectable.iter().for_each(|field| add(&(resource.field)(object, field)));
        Self { text: text.into(), ends: ends.into(), labels: labels.len() }
    }

    fn part(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        self.text.get(start..end)
    }

    fn label(&self, name: &str) -> Option<&str> {
        let at = (0..self.labels).find(|at| self.part(at * 2) == Some(name))?;
        self.part(at * 2 + 1)
    }

    fn field(&self, index: usize) -> Option<&str> {
        self.part(self.labels * 2 + index)
    }
}

impl Entry {
    /// Decodes a value of the store.
    pub(crate) fn read(resource: &Resource, value: Bytes, revision: Revision) -> Result<Self, NotStorable> {
        let (stored, object) = resource.read_object(value, revision)?;
        let selectable = Selectable::of(resource, &object);
        Ok(Self::with(stored, Arc::new(selectable)))
    }

    pub(crate) fn new(resource: &Resource, stored: Stored) -> Self {
        let selectable = Selectable::of(resource, &stored.object());
        Self::with(stored, Arc::new(selectable))
    }

    /// An object whose labels and fields were extracted before.
    pub(crate) fn with(stored: Stored, selectable: Arc<Selectable>) -> Self {
        Self { stored, selectable }
    }

    pub(crate) fn matches(&self, resource: &Resource, key: &str, selection: &Selection) -> bool {
        let (namespace, name) = split_key(resource, key);
        (selection.namespace.is_empty() || selection.namespace == namespace)
            && (selection.name.is_empty() || selection.name == name)
            && self.matches_labels(&selection.labels)
            && self.matches_fields(resource, namespace, name, &selection.fields)
    }

    fn matches_labels(&self, selector: &LabelSelector) -> bool {
        selector.is_everything() || selector.matches_by(|label| self.selectable.label(label))
    }

    fn matches_fields(&self, resource: &Resource, namespace: &str, name: &str, selector: &FieldSelector) -> bool {
        selector.is_everything()
            || selector.matches_by(|field| match field {
                "metadata.name" => name.to_owned(),
                "metadata.namespace" => namespace.to_owned(),
                _ => self.field(resource, field).to_owned(),
            })
    }

    /// The value of a selectable field; empty if the resource has no such field.
    pub(crate) fn field(&self, resource: &Resource, field: &str) -> &str {
        let index = resource.selectable.iter().position(|own| own == field);
        index.and_then(|index| self.selectable.field(index)).unwrap_or("")
    }
}

/// Namespace and name of a key below the resource's prefix; the namespace of a cluster-scoped object is empty.
pub(crate) fn split_key<'a>(resource: &Resource, key: &'a str) -> (&'a str, &'a str) {
    if resource.namespaced { key.split_once('/').unwrap_or(("", key)) } else { ("", key) }
}

/// The objects of a cache by their key below the resource's prefix, in the store's order.
pub(crate) type Objects = imbl::OrdMap<Arc<str>, Entry>;

/// The objects of `objects` that match a selection's namespace and name, in order.
pub(crate) fn candidates<'a>(
    resource: &Resource,
    objects: &'a Objects,
    selection: &Selection,
    after: Option<&str>,
) -> Box<dyn Iterator<Item = (&'a Arc<str>, &'a Entry)> + Send + 'a> {
    let prefix = if resource.namespaced && !selection.namespace.is_empty() {
        format!("{}/", selection.namespace)
    } else {
        String::new()
    };
    if !selection.name.is_empty() && (!prefix.is_empty() || !resource.namespaced) {
        let key = format!("{prefix}{}", selection.name);
        let found = objects.get_key_value(key.as_str());
        return Box::new(found.into_iter());
    }
    let start: Arc<str> = after.map_or_else(|| prefix.as_str().into(), Into::into);
    Box::new(objects.range(start..).take_while(move |(key, _)| key.starts_with(&prefix)))
}

/// Whether an object that is not cached matches a selection.
pub(crate) fn matches_object(resource: &Resource, stored: &Stored, key: &str, selection: &Selection) -> bool {
    if !selection.is_filtered() && selection.name.is_empty() {
        return true;
    }
    Entry::new(resource, stored.clone()).matches(resource, key, selection)
}
