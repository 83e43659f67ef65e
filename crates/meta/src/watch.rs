use std::sync::Arc;

use crate::{Object, Status};

/// The annotation of the bookmark that ends the initial events of a streaming list; its value is `true`.
/// In Kubernetes: `metav1.InitialEventsAnnotationKey`.
pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One event of a watch stream.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<T = Arc<Object>> {
    /// The object came to be, or came to match the selector.
    Added(T),
    /// The object changed.
    Modified(T),
    /// The object is gone, or no longer matches; carries its last state at the revision of the deletion.
    Deleted(T),
    /// Everything up to this revision has been delivered; `initial_events_end` closes a streaming list.
    Bookmark {
        /// The `resourceVersion` of the bookmark.
        resource_version: String,
        /// Whether this bookmark ends the initial events ([`INITIAL_EVENTS_END`]).
        initial_events_end: bool,
    },
    /// The stream ends, and why.
    Error(Status),
}

/// The words of the `type` field of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEventType {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
    /// `BOOKMARK`
    Bookmark,
    /// `ERROR`
    Error,
}

impl WatchEventType {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

impl<T> WatchEvent<T> {
    /// The `type` of this event.
    pub fn event_type(&self) -> WatchEventType {
        match self {
            Self::Added(_) => WatchEventType::Added,
            Self::Modified(_) => WatchEventType::Modified,
            Self::Deleted(_) => WatchEventType::Deleted,
            Self::Bookmark { .. } => WatchEventType::Bookmark,
            Self::Error(_) => WatchEventType::Error,
        }
    }

    /// The same event of another object.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> WatchEvent<U> {
        let mapped: Result<_, std::convert::Infallible> = self.try_map(|object| Ok(change(object)));
        let Ok(event) = mapped;
        event
    }

    /// The same event of another object, if there is one.
    pub fn try_map<U, E>(self, change: impl FnOnce(T) -> Result<U, E>) -> Result<WatchEvent<U>, E> {
        Ok(match self {
            Self::Added(object) => WatchEvent::Added(change(object)?),
            Self::Modified(object) => WatchEvent::Modified(change(object)?),
            Self::Deleted(object) => WatchEvent::Deleted(change(object)?),
            Self::Bookmark { resource_version, initial_events_end } => {
                WatchEvent::Bookmark { resource_version, initial_events_end }
            }
            Self::Error(status) => WatchEvent::Error(status),
        })
    }

    /// The object, if the event carries one.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => Some(object),
            Self::Bookmark { .. } | Self::Error(_) => None,
        }
    }
}
