use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use coracle_journal::EntryId;
use coracle_meta::{GroupResource, ObjectKey};

use super::children::most;
use super::end_state::EndState;
use super::generations::late;
use super::run_log::{LoggedWrite, RunLog};
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
    /// The last entry before all faults had ended; `None` if there was none.
    pub calm: Option<EntryId>,
    /// The last entry before the cluster was settled with everything that it was given, without a fault.
    pub settled: Option<EntryId>,
    /// The last entry before the cluster was settled again, after the component was restarted.
    pub restarted: Option<EntryId>,
    /// The last entry before the cluster was settled after everything that it was given was deleted.
    pub emptied: Option<EntryId>,
    /// What the component was last sent of all objects before each of its deletions, by audit id.
    pub shown: BTreeMap<String, SentObjects>,
    /// Which instance of the component sent each of its writes, by audit id.
    pub senders: BTreeMap<String, u64>,
    /// Why the user could not do its work; `None` if it could.
    pub failed_work: Option<String>,
    /// The properties of the author that did not hold.
    pub broken_properties: Vec<BrokenProperty>,
    /// The same run as checks see it of each other component of the author.
    pub parts: Vec<Run>,
    /// What many other runs are compared with.
    pub(super) compared: Compared,
}

/// What other runs are compared with, computed once.
#[derive(Clone, Debug, Default)]
pub(super) struct Compared {
    end_state: OnceLock<EndState>,
    late: OnceLock<BTreeSet<String>>,
    most_children: OnceLock<BTreeMap<String, usize>>,
}

/// A property of the author of a component that did not hold in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenProperty {
    /// The sentence that names it.
    pub sentence: String,
    /// The first revision at which it did not hold; `None` if it did not hold at rest.
    pub revision: Option<i64>,
    /// What was found instead.
    pub found: String,
}

impl Run {
    /// A run of a component, in which nothing has happened yet.
    pub fn of(component: &str, user: &str) -> Self {
        Self { component: component.to_owned(), user: user.to_owned(), ..Self::default() }
    }

    /// The same run, with the other components of the author, which checks judge, too.
    #[must_use]
    pub fn with_parts<'n>(mut self, names: impl IntoIterator<Item = &'n String>) -> Self {
        let part = |name: &String| Self {
            log: self.log.clone(),
            shown: self.shown.clone(),
            senders: self.senders.clone(),
            calm: self.calm,
            settled: self.settled,
            restarted: self.restarted,
            emptied: self.emptied,
            ..Self::of(name, name)
        };
        self.parts = names.into_iter().map(part).collect();
        self
    }

    /// The run as checks see it of this component.
    pub fn of_component(&self, name: &str) -> &Self {
        self.parts.iter().find(|part| part.component == name).unwrap_or(self)
    }

    /// The objects at rest.
    pub(super) fn end_state(&self) -> &EndState {
        let of = |rest| EndState::of(&self.log, rest);
        self.compared.end_state.get_or_init(|| self.settled.map(of).unwrap_or_default())
    }

    /// The subjects of the objects at rest whose generation is not the observed one.
    pub(super) fn late(&self) -> &BTreeSet<String> {
        let of = |rest| late(&self.log, rest).into_keys().map(str::to_owned).collect();
        self.compared.late.get_or_init(|| self.settled.map(of).unwrap_or_default())
    }

    /// The largest number of objects of each resource that existed at once, of those that the component created.
    pub(super) fn most_children(&self) -> &BTreeMap<String, usize> {
        let owned = |(resource, count): (&str, usize)| (resource.to_owned(), count);
        self.compared.most_children.get_or_init(|| most(&self.log, &self.user).into_iter().map(owned).collect())
    }

    /// The instance of the component that sent the request of a write.
    pub(super) fn sender(&self, write: &LoggedWrite) -> Option<u64> {
        self.senders.get(&self.log.request_of(write)?.audit_id).copied()
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
