use std::collections::BTreeMap;

use crate::{RawJson, lean_struct};

lean_struct! {
    /// What every object carries. In Kubernetes: `metav1.ObjectMeta`.
    pub struct ObjectMeta {
        /// The name, unique in its namespace and kind.
        name: Option<String> = "name",
        /// The prefix from which the server makes a name.
        generate_name: Option<String> = "generateName",
        /// The namespace; none for cluster-scoped kinds.
        namespace: Option<String> = "namespace",
        /// Unique in time and space; the server's.
        uid: Option<String> = "uid",
        /// The revision of the last write; opaque to clients, but comparable for equality.
        resource_version: Option<String> = "resourceVersion",
        /// Counts changes of the desired state.
        generation: Option<i64> = "generation",
        /// When the object was created, RFC 3339.
        creation_timestamp: Option<String> = "creationTimestamp",
        /// From when on the object may be gone, RFC 3339; set when its deletion begins.
        deletion_timestamp: Option<String> = "deletionTimestamp",
        /// The grace period that was granted, in seconds.
        deletion_grace_period_seconds: Option<i64> = "deletionGracePeriodSeconds",
        /// Labels, for selectors.
        labels: BTreeMap<String, String> = "labels",
        /// Annotations.
        annotations: BTreeMap<String, String> = "annotations",
        /// The objects that this one depends on.
        owner_references: Vec<OwnerReference> = "ownerReferences",
        /// The finalizers.
        finalizers: Vec<String> = "finalizers",
        /// The managed fields.
        managed_fields: Vec<ManagedFieldsEntry> = "managedFields",
    }
}

lean_struct! {
    /// Names an object that another depends on. In Kubernetes: `metav1.OwnerReference`.
    pub struct OwnerReference {
        /// The owner's `apiVersion`.
        api_version: String = "apiVersion",
        /// The owner's kind.
        kind: String = "kind",
        /// The owner's name.
        name: String = "name",
        /// The owner's uid: an object with the same name and another uid is not the owner.
        uid: String = "uid",
        /// Whether the owner is the managing controller; at most one is.
        controller: Option<bool> = "controller",
        /// Whether foreground deletion of the owner waits for this object.
        block_owner_deletion: Option<bool> = "blockOwnerDeletion",
    }
}

lean_struct! {
    /// Which fields one manager set by one kind of operation. In Kubernetes: `metav1.ManagedFieldsEntry`.
    pub struct ManagedFieldsEntry {
        /// The manager.
        manager: Option<String> = "manager",
        /// `Apply` or `Update`.
        operation: Option<String> = "operation",
        /// The version that the field set speaks of.
        api_version: Option<String> = "apiVersion",
        /// When fields were last added or changed.
        time: Option<String> = "time",
        /// `FieldsV1`.
        fields_type: Option<String> = "fieldsType",
        /// The field set, as a tree of `f:`, `k:`, `v:` and `i:` keys.
        fields_v1: Option<RawJson> = "fieldsV1",
        /// The subresource through which the fields were set.
        subresource: Option<String> = "subresource",
    }
}

impl ObjectMeta {
    /// The owner that manages this object, if there is one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Whether the object's deletion has begun.
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_survive_and_null_is_absence() {
        let text = r#"{"name":"a","labels":null,"selfLink":"/x","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","new":1}]}"#;
        let meta: ObjectMeta = serde_json::from_str(text).unwrap();
        assert!(meta.labels.is_empty());
        let again = serde_json::to_value(&meta).unwrap();
        assert_eq!(again["selfLink"], "/x");
        assert_eq!(again["ownerReferences"][0]["new"], 1);
        assert_eq!(again.get("labels"), None);
    }
}
