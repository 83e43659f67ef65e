use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;
use parking_lot::Mutex;

use super::pressed::{Pressed, Pressure};
use super::signals::Signal;
use crate::pod::pod_context::Leaving;

/// What a node is short of, and which of its pods it terminates.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    state: Mutex<Short>,
}

#[derive(Debug, Default)]
struct Short {
    pressure: Pressure,
    is_shutting_down: bool,
    /// By key: the uid of the pod, and why the node terminates it.
    leaving: BTreeMap<ObjectKey, (String, Leaving)>,
}

impl Short {
    fn pressed(&self) -> Pressed {
        Pressed { is_shutting_down: self.is_shutting_down, ..self.pressure.pressed() }
    }
}

impl Shortage {
    /// Updates the pressures and whether the node is shutting down; returns the conditions before and after.
    pub(crate) fn observe(&self, signals: &[Signal], is_shutting_down: bool, now: Timestamp) -> (Pressed, Pressed) {
        let mut state = self.state.lock();
        let before = state.pressed();
        state.pressure.observe(signals, now);
        state.is_shutting_down = is_shutting_down;
        (before, state.pressed())
    }

    /// The conditions that the node reports.
    pub(crate) fn pressed(&self) -> Pressed {
        self.state.lock().pressed()
    }

    /// When a condition next changes although no usage changes.
    pub(crate) fn changes_at(&self) -> Option<Timestamp> {
        self.state.lock().pressure.changes_at()
    }

    /// Whether the node reports no pressure and no shutdown.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.pressed().is_none()
    }

    /// Marks a pod that the node terminates.
    pub(crate) fn lets_go(&self, key: &ObjectKey, uid: &str, why: Leaving) {
        self.state.lock().leaving.insert(key.clone(), (uid.to_owned(), why));
    }

    /// Why the node terminates a pod, if it does.
    pub(crate) fn leaving(&self, key: &ObjectKey, uid: &str) -> Option<Leaving> {
        let state = self.state.lock();
        state.leaving.get(key).filter(|(own, _)| own == uid).map(|(_, why)| why.clone())
    }

    /// Forgets a pod that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.state.lock().leaving.remove(key);
    }
}
