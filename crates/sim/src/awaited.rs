use std::collections::BTreeMap;

use coracle_store::Revision;

use crate::cluster_state::ObjectChange;
use crate::{ClusterState, InvariantAnswer, Lists};

/// Checks one revision; the error is why the condition does not hold.
pub(crate) type Look = Box<dyn FnMut(&View<'_>) -> Result<(), InvariantAnswer> + Send>;

/// One revision.
pub(crate) struct View<'a> {
    /// All objects.
    pub(crate) cluster: &'a ClusterState,
    /// The same, for expressions.
    pub(crate) lists: &'a Lists,
    /// The namespace of questions that name none.
    pub(crate) namespace: &'a str,
    /// What changed; empty when a condition is checked for the first time.
    pub(crate) changes: &'a [ObjectChange<'a>],
}

/// The conditions that are checked at every revision until they hold.
#[derive(Default)]
pub(crate) struct Awaiting {
    next: u64,
    all: BTreeMap<u64, One>,
}

struct One {
    look: Look,
    state: Met,
}

/// The progress of an awaited condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Met {
    /// It held at this revision for the first time.
    At(Revision),
    /// It held at no revision up to this one; the last answer.
    NotBy(Revision, InvariantAnswer),
}

impl Awaiting {
    /// Checks the condition on the current objects, and from now on at every revision.
    pub(crate) fn add(&mut self, mut look: Look, view: &View<'_>) -> u64 {
        let id = self.next;
        self.next += 1;
        let state = Met::of(&mut look, view);
        self.all.insert(id, One { look, state });
        id
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.all.remove(&id);
    }

    pub(crate) fn met(&self, id: u64) -> Option<Met> {
        self.all.get(&id).map(|one| one.state.clone())
    }

    /// Checks all conditions at a new revision.
    pub(crate) fn look(&mut self, view: &View<'_>) {
        for one in self.all.values_mut().filter(|one| matches!(one.state, Met::NotBy(..))) {
            one.state = Met::of(&mut one.look, view);
        }
    }
}

impl Met {
    fn of(look: &mut Look, view: &View<'_>) -> Self {
        let revision = view.cluster.revision();
        match look(view) {
            Ok(()) => Self::At(revision),
            Err(answer) => Self::NotBy(revision, answer),
        }
    }
}
