use serde::Deserialize;

/// Some objects of a kind, and the version at which they were looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: serde::de::DeserializeOwned")]
pub struct List<T> {
    /// The kind of the list: `PodList`.
    #[serde(default)]
    pub kind: String,
    /// The version of its group: `v1`.
    #[serde(default)]
    pub api_version: String,
    /// What is said of the list as a whole.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The objects.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub items: Vec<T>,
}

/// What is said of a list as a whole. In Kubernetes: `metav1.ListMeta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version at which the list was made.
    pub resource_version: String,
    /// How to ask for the rest; empty if there is none.
    #[serde(rename = "continue")]
    pub continue_token: String,
    /// How many items the rest has, where the server knows.
    pub remaining_item_count: Option<i64>,
}

/// Go writes an empty list without items as `null`.
fn null_is_empty<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_are_null_are_none() {
        let text = r#"{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":null}"#;
        let list: List<serde_json::Value> = serde_json::from_str(text).unwrap();
        assert!(list.items.is_empty());
        assert_eq!(list.metadata.resource_version, "5");
    }
}
