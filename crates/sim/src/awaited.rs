use std::collections::BTreeMap;

use coracle_store::Revision;

use crate::{ClusterState, InvariantAnswer, Lists};

/// Checks all objects at one revision; the error is why the condition does not hold.
pub(crate) type Look = Box<dyn Fn(&ClusterState, &Lists, &str) -> Result<(), InvariantAnswer> + Send>;

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
    pub(crate) fn add(&mut self, look: Look, cluster: &ClusterState, lists: &Lists, namespace: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        let state = Met::of(&look, cluster, lists, namespace);
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
    pub(crate) fn look(&mut self, cluster: &ClusterState, lists: &Lists, namespace: &str) {
        for one in self.all.values_mut().filter(|one| matches!(one.state, Met::NotBy(..))) {
            one.state = Met::of(&one.look, cluster, lists, namespace);
        }
    }
}

impl Met {
    fn of(look: &Look, cluster: &ClusterState, lists: &Lists, namespace: &str) -> Self {
        match look(cluster, lists, namespace) {
            Ok(()) => Self::At(cluster.revision()),
            Err(answer) => Self::NotBy(cluster.revision(), answer),
        }
    }
}
