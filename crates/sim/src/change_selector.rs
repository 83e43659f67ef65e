use std::fmt;
use std::sync::Arc;

use coracle_expression::{Expression, Variables};
use coracle_meta::{Object, WatchEventType};
use serde_json::Value;

use crate::FollowedObject;
use crate::cluster_state::ObjectChange;
use crate::named::is_named;
use crate::near_miss;

/// Selects changes of objects; a field that is `None` selects all.
#[derive(Clone, Debug, Default)]
pub struct ChangeSelector {
    /// The kind of the object, of any group.
    pub kind: String,
    /// What happened to the object.
    pub change: Option<ChangeKind>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The name, or with a `*` at the end, what the name begins with.
    pub name: Option<String>,
    /// A condition on `object` and `oldObject`, which are null after a deletion and before a creation. In Kubernetes:
    /// the variables of a ValidatingAdmissionPolicy.
    pub condition: Option<Arc<Expression>>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Added,
    /// It was changed, or its deletion began.
    Modified,
    /// It was removed from the store.
    Deleted,
}

/// The changes that a selector has met.
#[derive(Debug, Default)]
pub(crate) struct ChangeCount {
    /// How many it has selected.
    pub(crate) selected: u64,
    /// How many matched all of its fields but one.
    near: u64,
    /// The last of these.
    nearest: Option<String>,
}

impl ChangeKind {
    /// All, in the order in which they happen to an object.
    pub const ALL: [Self; 3] = [Self::Added, Self::Modified, Self::Deleted];

    /// The word of Kubernetes: the `type` of a watch event.
    pub fn word(self) -> &'static str {
        let event = match self {
            Self::Added => WatchEventType::Added,
            Self::Modified => WatchEventType::Modified,
            Self::Deleted => WatchEventType::Deleted,
        };
        event.as_str()
    }

    fn of(change: &ObjectChange<'_>) -> Self {
        match (&change.before, &change.after) {
            (None, _) => Self::Added,
            (Some(_), Some(_)) => Self::Modified,
            (Some(_), None) => Self::Deleted,
        }
    }
}

impl ChangeSelector {
    /// How many of the fields do not match a change of an object of the kind. The condition is evaluated only if all
    /// other fields match.
    fn distance(&self, change: &ObjectChange<'_>, object: &Object) -> usize {
        let differs = [
            self.change.is_some_and(|kind| kind != ChangeKind::of(change)),
            self.namespace.as_ref().is_some_and(|namespace| namespace != object.namespace()),
            self.name.as_ref().is_some_and(|wanted| !is_named(object.name(), wanted)),
        ];
        match differs.into_iter().filter(|differs| *differs).count() {
            0 => usize::from(!self.condition.as_ref().is_none_or(|condition| holds(condition, change))),
            distance => distance,
        }
    }
}

/// An error is no match: the expression reads a field that the object does not have.
fn holds(condition: &Expression, change: &ObjectChange<'_>) -> bool {
    let value = |seen: &Option<FollowedObject>| seen.as_ref().map_or(Value::Null, |seen| seen.object().to_value());
    let (object, old) = (value(&change.after), value(&change.before));
    let mut variables = Variables::default();
    variables.set("object", &object);
    variables.set("oldObject", &old);
    condition.holds(&variables).unwrap_or(false)
}

impl ChangeCount {
    pub(crate) fn take(&mut self, selector: &ChangeSelector, change: &ObjectChange<'_>) {
        let Some(changed) = change.after.as_ref().or(change.before.as_ref()) else { return };
        if changed.version_and_kind().1 != selector.kind {
            return;
        }
        let object = changed.object();
        match selector.distance(change, object) {
            0 => self.selected += 1,
            1 => {
                self.near += 1;
                self.nearest = Some(Named { kind: ChangeKind::of(change), object }.to_string());
            }
            _ => {}
        }
    }

    /// How near it came to the nth change.
    pub(crate) fn near_miss(&self, nth: u64) -> String {
        let matched = near_miss::matched("change", self.selected, nth);
        match &self.nearest {
            None => matched,
            Some(last) => format!("{matched}; {}", near_miss::nearly(self.near, last)),
        }
    }
}

/// A change in one line: `DELETED Pod default/web-1`.
struct Named<'a> {
    kind: ChangeKind,
    object: &'a Object,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = [self.object.namespace(), self.object.name()];
        let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        write!(f, "{} {} {place}", self.kind.word(), self.object.kind())
    }
}

#[cfg(test)]
mod tests {
    use coracle_storage::Stored;
    use coracle_store::{Event, EventKind, KeyValue};
    use serde_json::json;

    use super::*;

    fn pod(name: &str, phase: &str) -> Option<FollowedObject> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "status": {"phase": phase}});
        Some(Stored::from_object(&Arc::new(Object::from_value(pod).unwrap()), 1).into())
    }

    fn change(before: Option<FollowedObject>, after: Option<FollowedObject>, select: impl FnOnce(&ObjectChange<'_>)) {
        let event = Event { kind: EventKind::Put, kv: KeyValue::default(), prev_kv: None };
        select(&ObjectChange { event: &event, before, after });
    }

    fn selector() -> ChangeSelector {
        ChangeSelector { kind: "Pod".to_owned(), ..ChangeSelector::default() }
    }

    #[test]
    fn a_selector_selects_by_each_of_its_fields() {
        let text = |text: &str| Some(text.to_owned());
        let condition = |text: &str| Some(Arc::new(Expression::compile(text).unwrap()));
        for (selector, distance) in [
            (selector(), 0),
            (ChangeSelector { change: Some(ChangeKind::Modified), name: text("web-*"), ..selector() }, 0),
            (ChangeSelector { change: Some(ChangeKind::Deleted), ..selector() }, 1),
            (ChangeSelector { change: Some(ChangeKind::Added), namespace: text("other"), ..selector() }, 2),
            (ChangeSelector { name: text("db-*"), condition: condition("object.never"), ..selector() }, 1),
            (ChangeSelector { condition: condition("object.status.phase != oldObject.status.phase"), ..selector() }, 0),
            (ChangeSelector { condition: condition("oldObject == null"), ..selector() }, 1),
            (ChangeSelector { condition: condition("object.status.missing == 'a'"), ..selector() }, 1),
        ] {
            change(pod("web-1", "Pending"), pod("web-1", "Running"), |change| {
                assert_eq!(
                    selector.distance(change, change.after.as_ref().unwrap().object()),
                    distance,
                    "{selector:?}"
                );
            });
        }
    }

    #[test]
    fn what_was_created_has_no_old_object_and_what_is_gone_no_new_one() {
        let mut count = ChangeCount::default();
        let created = ChangeSelector {
            change: Some(ChangeKind::Added),
            condition: Some(Arc::new(
                Expression::compile("oldObject == null && object.status.phase == 'Pending'").unwrap(),
            )),
            ..selector()
        };
        let gone = ChangeSelector {
            change: Some(ChangeKind::Deleted),
            condition: Some(Arc::new(Expression::compile("object == null && oldObject.metadata.name == 'a'").unwrap())),
            ..selector()
        };
        change(None, pod("a", "Pending"), |change| count.take(&created, change));
        change(pod("a", "Running"), None, |change| count.take(&gone, change));
        assert_eq!(count.selected, 2);
    }

    #[test]
    fn a_count_says_how_near_it_came() {
        let mut count = ChangeCount::default();
        let deleted = ChangeSelector { change: Some(ChangeKind::Deleted), ..selector() };
        assert_eq!(count.near_miss(2), "no change matched");
        change(pod("a", "Running"), None, |change| count.take(&deleted, change));
        change(None, pod("b", "Pending"), |change| count.take(&deleted, change));
        let of_nodes = ChangeSelector { kind: "Node".to_owned(), ..selector() };
        change(None, pod("c", "Pending"), |change| count.take(&of_nodes, change));
        assert_eq!(
            count.near_miss(2),
            "1 change matched, and it waits for number 2; 1 matched in all fields but one, the last of them: \
             ADDED Pod default/b"
        );
    }
}
