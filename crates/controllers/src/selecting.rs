//! Which selectors of a namespace match an object: the reverse of a list by selector.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_controller_runtime::controllers_of;
use coracle_informer::{Notification, SharedInformer};
use coracle_meta::{ApiObject, LabelOperator, LabelSelector, ObjectKey, Resource};
use parking_lot::Mutex;

/// The selectors of all objects of a kind, each compiled once per change of its object.
///
/// ```text
/// Service a: app=web          by_label: (default, app, web)  -> a, b
/// Service b: app=web,tier=x             (default, other, ..) -> ..
/// Service c: !old             others:   default              -> c
///
/// a pod with app=web, tier=y  -> candidates a, b, c -> matching a, c
/// ```
/// A selector is indexed by the first of its labels that requires one value; only selectors without such a label are
/// evaluated for every object of their namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selecting {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    selectors: BTreeMap<ObjectKey, LabelSelector>,
    /// By namespace, key and value of a label; selectors without such a label under an empty key.
    by_label: BTreeMap<(String, String, String), BTreeSet<ObjectKey>>,
}

impl Selecting {
    /// The selectors of an informer's objects; `selector` returns the selector of an object.
    pub(crate) fn of<T: Resource>(
        informer: &SharedInformer<T>,
        actor: &str,
        selector: fn(&T) -> LabelSelector,
    ) -> Self {
        let selecting = Self::default();
        let state = Arc::clone(&selecting.state);
        informer.add_handler(actor, move |notification, _| {
            let key = notification.object().object_key();
            let now = match notification {
                Notification::Deleted { .. } => None,
                Notification::Added { object, .. } | Notification::Updated { new: object, .. } => {
                    Some(selector(object)).filter(|selector| !selector.nothing)
                }
            };
            state.lock().set(key, now);
        });
        selecting
    }

    /// The objects of a namespace whose selectors match these labels, in the order of their names.
    pub(crate) fn matching(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<ObjectKey> {
        self.state.lock().matching(namespace, labels)
    }

    /// The objects of a kind that a change of another object concerns: its controller, before and after. An object
    /// without a controller concerns those whose selectors match it, when it is added and when its labels or owners
    /// change.
    ///
    /// In Kubernetes: the handlers `addPod` and `updatePod` of each controller.
    pub(crate) fn concerned_by<T: Resource>(&self, notification: &Notification<T>, kind: &str) -> Vec<ObjectKey> {
        let concerned = controllers_of(notification, kind);
        let meta = notification.object().meta();
        if !concerned.is_empty() || meta.controller().is_some() {
            return concerned;
        }
        let matters = match notification {
            Notification::Added { .. } => true,
            Notification::Updated { old, .. } => {
                let before = old.meta();
                before.labels != meta.labels || before.controller() != meta.controller()
            }
            Notification::Deleted { .. } => false,
        };
        if !matters {
            return Vec::new();
        }
        self.matching(meta.namespace.as_deref().unwrap_or_default(), &meta.labels)
    }
}

impl State {
    fn set(&mut self, key: ObjectKey, selector: Option<LabelSelector>) {
        if let Some(before) = self.selectors.remove(&key) {
            let place = place(&key.namespace, &before);
            if let Some(keys) = self.by_label.get_mut(&place) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.by_label.remove(&place);
                }
            }
        }
        if let Some(selector) = selector {
            self.by_label.entry(place(&key.namespace, &selector)).or_default().insert(key.clone());
            self.selectors.insert(key, selector);
        }
    }

    fn matching(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<ObjectKey> {
        if self.selectors.is_empty() {
            return Vec::new();
        }
        let nowhere = (String::new(), String::new());
        let labelled = labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        let places = labelled.chain([nowhere]).map(|(key, value)| (namespace.to_owned(), key, value));
        let found = places.filter_map(|place| self.by_label.get(&place)).flatten();
        let mut keys: Vec<_> = found.filter(|key| self.selectors[*key].matches(labels)).cloned().collect();
        keys.sort();
        keys
    }
}

/// The index key of a selector.
fn place(namespace: &str, selector: &LabelSelector) -> (String, String, String) {
    let fixed = selector.requirements.iter().find_map(|requirement| match requirement.values.as_slice() {
        [value] if requirement.operator == LabelOperator::In => Some((requirement.key.clone(), value.clone())),
        _ => None,
    });
    let (key, value) = fixed.unwrap_or_default();
    (namespace.to_owned(), key, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn selector() -> impl Strategy<Value = LabelSelector> {
        let requirement = ("[ab]", 0..4_u8, "[xy]").prop_map(|(key, operator, value)| match operator {
            0 => format!("{key}={value}"),
            1 => format!("{key}!={value}"),
            2 => key,
            _ => format!("!{key}"),
        });
        prop::collection::vec(requirement, 0..3).prop_map(|all| LabelSelector::parse(&all.join(",")).unwrap())
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_walk_over_all_selectors_finds(
            changes in prop::collection::vec(("[mn]", "[a-d]", prop::option::of(selector())), 0..20),
            labels in prop::collection::btree_map("[ab]", "[xy]", 0..3),
        ) {
            let (mut state, mut all) = (State::default(), BTreeMap::new());
            for (namespace, name, selector) in changes {
                let key = ObjectKey::new(namespace, name);
                state.set(key.clone(), selector.clone());
                match selector {
                    Some(selector) => drop(all.insert(key, selector)),
                    None => drop(all.remove(&key)),
                }
            }
            for namespace in ["m", "n"] {
                let walked = all.iter().filter(|(key, one)| key.namespace == namespace && one.matches(&labels));
                let walked: Vec<_> = walked.map(|(key, _)| key.clone()).collect();
                prop_assert_eq!(state.matching(namespace, &labels), walked);
            }
            let places: usize = state.by_label.values().map(BTreeSet::len).sum();
            prop_assert_eq!(places, all.len());
        }
    }
}
