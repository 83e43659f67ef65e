use std::sync::Arc;

use coracle_meta::{AnyObject, GroupVersion, GroupVersionKind, ObjectType};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Objects of a kind, and the version at which they were read.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// The kind of the list: `PodList`.
    pub kind: String,
    /// The version of its group: `v1`.
    pub api_version: String,
    /// The metadata of the list.
    pub metadata: ListMeta,
    /// The objects.
    pub items: Vec<T>,
}

/// A list whose items are not decoded yet.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unread<'a> {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    metadata: ListMeta,
    /// Go writes an empty list without items as `null`.
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl List<Arc<dyn AnyObject>> {
    /// Decodes a list from JSON. Items without a kind get it from the list.
    pub(crate) fn read_json(text: &[u8], form: ObjectType) -> Result<Self, serde_json::Error> {
        let Unread { kind, api_version, metadata, items } = coracle_meta::json::from_slice(text)?;
        let of_items = item_kind(&kind, &api_version);
        let items = items.unwrap_or_default().into_iter();
        let items = items.map(|item| form.read(item.get().as_bytes(), of_items.as_ref()));
        Ok(Self { kind, api_version, metadata, items: items.collect::<Result<_, _>>()? })
    }
}

/// The metadata of a list. In Kubernetes: `metav1.ListMeta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version of the list.
    pub resource_version: String,
    /// The token for the next page; empty on the last one.
    #[serde(rename = "continue")]
    pub continue_token: String,
    /// The number of remaining items, if the server knows it.
    pub remaining_item_count: Option<i64>,
}

/// The kind of the items: `PodList` contains Pods.
fn item_kind(list_kind: &str, api_version: &str) -> Option<GroupVersionKind> {
    let kind = list_kind.strip_suffix("List")?;
    Some(GroupVersion::parse(api_version)?.kind(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_items_mean_an_empty_list() {
        let text = r#"{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":null}"#;
        let list = List::read_json(text.as_bytes(), ObjectType::of::<coracle_meta::Object>()).unwrap();
        assert!(list.items.is_empty());
        assert_eq!(list.metadata.resource_version, "5");
    }
}
