use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::pressure::{Pressed, Pressure};
use super::signals::Signal;
use crate::surroundings::Leaving;

/// What a node is short of, and which of its pods go.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    state: Mutex<Short>,
}

#[derive(Debug, Default)]
struct Short {
    pressure: Pressure,
    is_shutting_down: bool,
    /// By key: the uid, and why.
    leaving: BTreeMap<ObjectKey, (String, Leaving)>,
}

impl Short {
    fn pressed(&self) -> Pressed {
        Pressed { is_shutting_down: self.is_shutting_down, ..self.pressure.pressed() }
    }
}

impl Shortage {
    /// Takes in what the node is short of now, and whether it is being shut down; gives what it said before, and what it says from now on.
    pub(crate) fn observe(&self, signals: &[Signal], is_shutting_down: bool, now: Timestamp) -> (Pressed, Pressed) {
        let mut state = self.state.lock();
        let before = state.pressed();
        state.pressure.observe(signals, now);
        state.is_shutting_down = is_shutting_down;
        (before, state.pressed())
    }

    /// What the node says.
    pub(crate) fn pressed(&self) -> Pressed {
        self.state.lock().pressed()
    }

    /// When it says something else though nothing has changed.
    pub(crate) fn changes_at(&self) -> Option<Timestamp> {
        self.state.lock().pressure.changes_at()
    }

    /// Whether it says that it is short of nothing.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.pressed().is_none()
    }

    /// A pod goes.
    pub(crate) fn lets_go(&self, key: &ObjectKey, uid: &str, why: Leaving) {
        self.state.lock().leaving.insert(key.clone(), (uid.to_owned(), why));
    }

    /// Why a pod goes, if it does.
    pub(crate) fn leaving(&self, key: &ObjectKey, uid: &str) -> Option<Leaving> {
        let state = self.state.lock();
        state.leaving.get(key).filter(|(own, _)| own == uid).map(|(_, why)| why.clone())
    }

    /// The pod is there no more.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.state.lock().leaving.remove(key);
    }
}
