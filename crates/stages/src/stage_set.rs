use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Node, Pod};
use coracle_kubelet_api::{StagedKinds, UsageOverrides};
use coracle_meta::GroupVersionKind;
use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::lifecycle::Lifecycle;
use crate::stage::Stage;
use crate::usages::Usages;

/// The current Stages: those of the configuration, and those that are objects of the API. An object replaces a
/// configured Stage of the same name.
#[derive(Debug, Default)]
pub struct StageSet {
    state: RwLock<State>,
    pub(crate) changed: Notify,
    /// What usage objects state about pods.
    pub(crate) usages: Usages,
}

#[derive(Debug, Default)]
struct State {
    given: Vec<Arc<Stage>>,
    objects: BTreeMap<String, Arc<Stage>>,
    by_kind: BTreeMap<GroupVersionKind, Arc<Lifecycle>>,
    /// Counts the changes.
    edition: u64,
}

impl StageSet {
    /// A set with these Stages; a later one replaces an earlier one of the same name.
    pub fn new(given: Vec<Stage>) -> Self {
        let mut state = State::default();
        for stage in given {
            state.given.retain(|known| known.name() != stage.name());
            state.given.push(Arc::new(stage));
        }
        state.sort();
        Self { state: RwLock::new(state), changed: Notify::new(), usages: Usages::default() }
    }

    pub(crate) fn kinds(&self) -> Vec<GroupVersionKind> {
        self.state.read().by_kind.keys().cloned().collect()
    }

    /// The Stages of a kind, and the edition of the set that they belong to.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> (u64, Arc<Lifecycle>) {
        let state = self.state.read();
        (state.edition, state.by_kind.get(kind).cloned().unwrap_or_default())
    }

    /// Adds, replaces or removes a Stage of the API.
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

impl StagedKinds for StageSet {
    fn has_stages_for(&self, kind: &str) -> bool {
        self.state.read().by_kind.keys().any(|known| known.group.is_empty() && known.kind == kind)
    }

    fn wake(&self) {
        self.changed.notify_one();
    }

    fn usage_of(&self, pod: &Pod, node: Option<&Node>) -> UsageOverrides {
        self.usages.of(pod, node)
    }

    fn usage_changed(&self) -> &Notify {
        &self.usages.changed
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
