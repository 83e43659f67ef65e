use coracle_informer::Notification;
use coracle_meta::{ApiObject, ObjectKey, ObjectMeta, OwnerReference};

/// The key of the object itself.
///
/// ```
/// use coracle_api::core_v1::Pod;
/// use coracle_controller_runtime::key_of;
/// use coracle_informer::Notification;
/// use coracle_meta::ObjectKey;
///
/// let mut pod = Pod::default();
/// pod.metadata.namespace = Some("default".to_owned());
/// pod.metadata.name = Some("web-1".to_owned());
/// let gone = Notification::Deleted { object: pod.into(), observed: true };
/// assert_eq!(key_of(&gone), [ObjectKey::new("default", "web-1")]);
/// ```
pub fn key_of<T: ApiObject>(notification: &Notification<T>) -> Vec<ObjectKey> {
    vec![notification.object().object_key()]
}

/// The keys of the controllers of a kind that manage the object, or managed it before the change.
///
/// ```
/// use coracle_api::apps_v1::ReplicaSet;
/// use coracle_api::core_v1::Pod;
/// use coracle_controller_runtime::{controllers_of, ownership};
/// use coracle_informer::Notification;
/// use coracle_meta::ObjectKey;
///
/// let mut set = ReplicaSet::default();
/// set.metadata.name = Some("web".to_owned());
/// let mut pod = Pod::default();
/// pod.metadata.namespace = Some("default".to_owned());
/// pod.metadata.owner_references = vec![ownership::controller_reference(&set)];
/// let made = Notification::Added { object: pod.into(), initial: false };
/// assert_eq!(controllers_of(&made, "ReplicaSet"), [ObjectKey::new("default", "web")]);
/// assert!(controllers_of(&made, "Job").is_empty());
/// ```
pub fn controllers_of<T: ApiObject>(notification: &Notification<T>, kind: &str) -> Vec<ObjectKey> {
    let (now, before) = (notification.object().object_meta(), notification.old().map(|old| old.object_meta()));
    let name = controller(&now, kind);
    let name_before =
        before.as_deref().and_then(|before| controller(before, kind)).filter(|before| Some(*before) != name);
    let namespace = now.namespace.as_deref().unwrap_or_default();
    name_before.into_iter().chain(name).map(|name| ObjectKey::new(namespace, name)).collect()
}

fn controller<'a>(meta: &'a ObjectMeta, kind: &str) -> Option<&'a str> {
    let is_controller = |owner: &&OwnerReference| owner.controller == Some(true) && owner.kind == kind;
    meta.owner_references.iter().find(is_controller).map(|owner| owner.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::PartialObject;
    use std::sync::Arc;

    fn owned_by(name: &str) -> Arc<PartialObject> {
        let mut object = PartialObject::default();
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.owner_references.push(OwnerReference {
            kind: "ReplicaSet".to_owned(),
            name: name.to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        });
        Arc::new(object)
    }

    #[test]
    fn a_change_of_controller_enqueues_both_controllers() {
        let moved = Notification::Updated { old: owned_by("a"), new: owned_by("b") };
        let keys = controllers_of(&moved, "ReplicaSet");
        assert_eq!(keys, [ObjectKey::new("default", "a"), ObjectKey::new("default", "b")]);
        let same = Notification::Updated { old: owned_by("a"), new: owned_by("a") };
        assert_eq!(controllers_of(&same, "ReplicaSet").len(), 1);
        assert!(controllers_of(&same, "Job").is_empty());
    }
}
