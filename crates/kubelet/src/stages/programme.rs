use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::GroupVersionKind;
use parking_lot::RwLock;
use tokio::sync::Notify;

use super::lifecycle::Lifecycle;
use super::stage::Stage;
use super::usages::Usages;

/// The Stages that are played at present: those that were given at the start, and those that are objects of the API. An
/// object takes the place of a given Stage of its name.
#[derive(Debug, Default)]
pub struct Programme {
    state: RwLock<State>,
    pub(crate) changed: Notify,
    /// What pods use, as far as objects say it.
    pub(crate) usages: Usages,
}

#[derive(Debug, Default)]
struct State {
    given: Vec<Arc<Stage>>,
    objects: BTreeMap<String, Arc<Stage>>,
    by_kind: BTreeMap<GroupVersionKind, Arc<Lifecycle>>,
    /// How often it has changed.
    edition: u64,
}

impl PartialEq for Programme {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Programme {}

impl Programme {
    /// Begins with these Stages; a later one takes the place of an earlier one of its name.
    pub fn new(given: Vec<Stage>) -> Self {
        let mut state = State::default();
        for stage in given {
            state.given.retain(|known| known.name() != stage.name());
            state.given.push(Arc::new(stage));
        }
        state.sort();
        Self { state: RwLock::new(state), changed: Notify::new(), usages: Usages::default() }
    }

    /// Whether there are Stages for this kind, which then take the place of what happens to its objects without them.
    pub fn plays(&self, kind: &str) -> bool {
        self.state.read().by_kind.keys().any(|known| known.group.is_empty() && known.kind == kind)
    }

    /// Lets all objects be looked at again, as when a node has its power back.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    pub(crate) fn kinds(&self) -> Vec<GroupVersionKind> {
        self.state.read().by_kind.keys().cloned().collect()
    }

    /// The Stages of a kind, and the edition of the programme that they are from.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> (u64, Arc<Lifecycle>) {
        let state = self.state.read();
        (state.edition, state.by_kind.get(kind).cloned().unwrap_or_default())
    }

    /// Takes a Stage of the API in, or out.
    pub(crate) fn set(&self, name: &str, stage: Option<Stage>) {
        let mut state = self.state.write();
        let before = match stage {
            Some(stage) => state.objects.insert(name.to_owned(), Arc::new(stage)),
            None => state.objects.remove(name),
        };
        if before.is_some() || state.objects.contains_key(name) {
            state.sort();
            drop(state);
            self.changed.notify_one();
        }
    }
}

impl State {
    fn sort(&mut self) {
        let mut by_kind: BTreeMap<GroupVersionKind, Vec<Arc<Stage>>> = BTreeMap::new();
        let given = self.given.iter().filter(|stage| !self.objects.contains_key(stage.name()));
        for stage in given.chain(self.objects.values()) {
            by_kind.entry(stage.kind().clone()).or_default().push(Arc::clone(stage));
        }
        self.by_kind = by_kind.into_iter().map(|(kind, stages)| (kind, Arc::new(Lifecycle::new(stages)))).collect();
        self.edition += 1;
    }
}
