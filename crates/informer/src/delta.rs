use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::AnyObject;

/// What happened to an object, as the reflector saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaType {
    /// The watch said `ADDED`.
    Added,
    /// The watch said `MODIFIED`.
    Updated,
    /// The watch said `DELETED`, or a list no longer has the object.
    Deleted,
    /// A list has the object.
    Replaced,
    /// Nothing happened; the object is said again.
    Sync,
}

impl DeltaType {
    /// The word in the event log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "Added",
            Self::Updated => "Updated",
            Self::Deleted => "Deleted",
            Self::Replaced => "Replaced",
            Self::Sync => "Sync",
        }
    }
}

/// One thing that happened to an object.
#[derive(Clone, Debug)]
pub struct Delta {
    /// What happened.
    pub delta_type: DeltaType,
    /// The object afterwards; of a deletion its last known state.
    pub object: Arc<dyn AnyObject>,
    /// False for a deletion that only a later list revealed.
    pub observed: bool,
    /// The entry of the event log that says that this delta was queued.
    pub cause: Option<EntryId>,
}
