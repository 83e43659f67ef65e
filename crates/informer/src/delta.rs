use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::AnyObject;

/// The type of a change, as the reflector saw it.
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
    /// Nothing changed; the object is queued again for a resync.
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

/// One change of an object.
#[derive(Clone, Debug)]
pub struct Delta {
    /// What happened.
    pub delta_type: DeltaType,
    /// The object afterwards; of a deletion its last known state.
    pub object: Arc<dyn AnyObject>,
    /// False for a deletion that only a later list revealed.
    pub observed: bool,
    /// The entry of the event log for the queueing of this delta.
    pub cause: Option<EntryId>,
}
