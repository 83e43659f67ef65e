use std::task::Waker;

use crate::EntryId;

/// Who waits for an entry to be written.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    wakers: Vec<(EntryId, Waker)>,
}

impl Waiting {
    pub(crate) fn add(&mut self, id: EntryId, waker: &Waker) {
        if !self.wakers.iter().any(|(known, waiting)| *known == id && waiting.will_wake(waker)) {
            self.wakers.push((id, waker.clone()));
        }
    }

    /// Those who wait for an entry up to this one; they wait no longer.
    pub(crate) fn due(&mut self, written: EntryId) -> Vec<Waker> {
        self.wakers.extract_if(.., |(id, _)| *id <= written).map(|(_, waker)| waker).collect()
    }
}
