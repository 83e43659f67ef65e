use std::task::Waker;

use crate::EntryId;

/// The tasks that wait for an entry to be recorded.
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

    /// Takes the tasks that wait for an entry up to this one.
    pub(crate) fn due(&mut self, written: EntryId) -> Vec<Waker> {
        self.wakers.extract_if(.., |(id, _)| *id <= written).map(|(_, waker)| waker).collect()
    }
}
