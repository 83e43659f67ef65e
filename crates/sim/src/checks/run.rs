use std::collections::BTreeMap;
use std::sync::OnceLock;

use coracle_journal::EntryId;
use coracle_meta::{GroupResource, ObjectKey};

use super::end_state::EndState;
use super::run_log::RunLog;
use crate::wire::LastSent;

/// What a component was last sent of each object.
pub type SentObjects = BTreeMap<(GroupResource, ObjectKey), LastSent>;

/// A run of a controller, as checks see it.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What happened.
    pub log: RunLog,
    /// The component that is checked.
    pub component: String,
    /// The user as which it sends requests.
    pub user: String,
    /// Why the cluster did not settle; `None` if it settled.
    pub unsettled: Option<String>,
    /// The last entry before the cluster was settled with everything that it was given, without a fault.
    pub settled: Option<EntryId>,
    /// The last entry before the cluster was settled again, after the component was restarted.
    pub restarted: Option<EntryId>,
    /// The last entry before the cluster was settled after everything that it was given was deleted.
    pub emptied: Option<EntryId>,
    /// What the component was last sent of all objects before each of its deletions, by audit id.
    pub shown: BTreeMap<String, SentObjects>,
    /// The objects at rest, which are compared with many other runs.
    pub(super) end_state: OnceLock<EndState>,
}

impl Run {
    /// A run of a component, in which nothing has happened yet.
    pub fn of(component: &str, user: &str) -> Self {
        Self { component: component.to_owned(), user: user.to_owned(), ..Self::default() }
    }

    /// The objects at rest.
    pub(super) fn end_state(&self) -> &EndState {
        let of = |rest| EndState::of(&self.log, rest);
        self.end_state.get_or_init(|| self.settled.map(of).unwrap_or_default())
    }

    /// What the component was last sent of an object before one of its deletions. `subject` is `PLURAL/NAMESPACE/NAME`,
    /// or `PLURAL/NAME`.
    pub(super) fn shown(&self, deletion: &str, subject: &str) -> Option<&LastSent> {
        let mut parts = subject.split('/');
        let (plural, first, second) = (parts.next()?, parts.next()?, parts.next());
        let key = second.map_or_else(|| ObjectKey::new("", first), |name| ObjectKey::new(first, name));
        let objects = self.shown.get(deletion)?.iter();
        objects.into_iter().find(|((resource, at), _)| resource.resource == plural && *at == key).map(|(_, sent)| sent)
    }
}
