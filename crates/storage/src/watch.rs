use coracle_meta::WatchEvent;

use crate::Stored;

/// A watch: a cursor over the changes of the objects of a selection.
#[derive(Debug)]
pub struct Watch {
    _private: (),
}

impl Watch {
    /// Waits for the next event. `None` after an error: the watch has ended.
    ///
    /// Events come in the order of their revisions, none twice, none missing. Safe to cancel.
    pub async fn next(&mut self) -> Option<WatchEvent<Stored>> {
        None
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<WatchEvent<Stored>> {
        None
    }
}
