use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::storage_v1::StorageClass;

/// The default class; the newest of several. In Kubernetes: `GetDefaultClass`.
pub(crate) fn default_class(classes: &[Arc<StorageClass>]) -> Option<&Arc<StorageClass>> {
    let is_true =
        |annotations: &BTreeMap<String, String>, name: &str| annotations.get(name).is_some_and(|value| value == "true");
    let is_default = |class: &&Arc<StorageClass>| {
        let annotations = &class.metadata.annotations;
        is_true(annotations, "storageclass.kubernetes.io/is-default-class")
            || is_true(annotations, "storageclass.beta.kubernetes.io/is-default-class")
    };
    let age =
        |class: &&Arc<StorageClass>| (Reverse(class.metadata.creation_timestamp.clone()), class.metadata.name.clone());
    classes.iter().filter(is_default).min_by_key(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_default_class_is_the_default() {
        let class = |name: &str, created: &str, is_default: bool| {
            let mut class = StorageClass::default();
            class.metadata.name = Some(name.to_owned());
            class.metadata.creation_timestamp = Some(created.to_owned());
            let annotation = ("storageclass.kubernetes.io/is-default-class".to_owned(), is_default.to_string());
            class.metadata.annotations = [annotation].into();
            Arc::new(class)
        };
        let classes = [
            class("old", "2026-01-01T00:00:00Z", true),
            class("b", "2026-01-02T00:00:00Z", true),
            class("a", "2026-01-02T00:00:00Z", true),
            class("newest", "2026-01-03T00:00:00Z", false),
        ];
        assert_eq!(default_class(&classes).unwrap().metadata.name.as_deref(), Some("a"));
        assert!(default_class(&classes[3..]).is_none());
    }
}
