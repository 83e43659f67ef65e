use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::{Ambient, SignedDuration, Skew};
use parking_lot::Mutex;

/// The skews of the clocks of components, by name. They stay when a component restarts. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Skews(Arc<Mutex<BTreeMap<String, Skew>>>);

impl Skews {
    /// The environment of a component, whose wall clock can be shifted from now on.
    pub(crate) fn ambient_of(&self, name: &str, ambient: &Ambient) -> Ambient {
        let skew = self.0.lock().entry(name.to_owned()).or_default().clone();
        ambient.skewed_by(&skew)
    }

    /// Sets the clock of a component forward or back; false if no component of this name has such a clock.
    pub(crate) fn shift(&self, name: &str, duration: SignedDuration) -> bool {
        self.0.lock().get(name).map(|skew| skew.shift(duration)).is_some()
    }
}
