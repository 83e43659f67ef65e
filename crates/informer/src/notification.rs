use std::sync::Arc;

/// The input of a handler: the change of one object in the cache.
///
/// In Kubernetes: the three methods of `cache.ResourceEventHandler`.
///
/// ```
/// use coracle_informer::Notification;
/// use std::sync::Arc;
///
/// /// Whether a change of a replica count is behind it.
/// fn scaled(change: &Notification<i32>) -> bool {
///     change.old().is_some_and(|old| old != change.object())
/// }
/// assert!(scaled(&Notification::Updated { old: Arc::new(1), new: Arc::new(3) }));
/// assert!(!scaled(&Notification::Updated { old: Arc::new(3), new: Arc::new(3) }), "a resync");
/// assert!(!scaled(&Notification::Deleted { object: Arc::new(3), observed: true }));
/// ```
#[derive(Debug, PartialEq)]
pub enum Notification<T: ?Sized> {
    /// The object was added to the cache.
    Added {
        /// The object.
        object: Arc<T>,
        /// Whether it existed before the informer (or the handler) started.
        initial: bool,
    },
    /// The object changed, or did not change in a resync: then both versions are the same.
    Updated {
        /// The previous version.
        old: Arc<T>,
        /// The new version.
        new: Arc<T>,
    },
    /// The object was removed from the cache.
    Deleted {
        /// Its last known state.
        object: Arc<T>,
        /// Whether the deletion itself was observed. If not, the object was missing from a later list, and its last
        /// state may be old. In Kubernetes: `cache.DeletedFinalStateUnknown`.
        observed: bool,
    },
}

impl<T: ?Sized> Notification<T> {
    /// The object in its latest known state.
    pub fn object(&self) -> &Arc<T> {
        match self {
            Self::Added { object, .. } | Self::Updated { new: object, .. } | Self::Deleted { object, .. } => object,
        }
    }

    /// The object's previous state, if it changed.
    pub fn old(&self) -> Option<&Arc<T>> {
        match self {
            Self::Updated { old, .. } => Some(old),
            Self::Added { .. } | Self::Deleted { .. } => None,
        }
    }

    /// The same change of a part of the object, as `part` returns it.
    pub fn map<U>(&self, part: impl Fn(&Arc<T>) -> Arc<U>) -> Notification<U> {
        match self {
            Self::Added { object, initial } => Notification::Added { object: part(object), initial: *initial },
            Self::Updated { old, new } => Notification::Updated { old: part(old), new: part(new) },
            Self::Deleted { object, observed } => Notification::Deleted { object: part(object), observed: *observed },
        }
    }

    /// The word in the event log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Added { .. } => "Added",
            Self::Updated { .. } => "Updated",
            Self::Deleted { .. } => "Deleted",
        }
    }
}
