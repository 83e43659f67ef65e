use std::collections::BTreeMap;

use coracle_store::Revision;

use crate::{Answer, ClusterState, Lists};

/// Looks at all objects at one revision, and says why they are not as awaited.
pub(crate) type Look = Box<dyn Fn(&ClusterState, &Lists, &str) -> Result<(), Answer> + Send>;

/// What is looked for at every revision, until it is met.
#[derive(Default)]
pub(crate) struct Awaiting {
    next: u64,
    all: BTreeMap<u64, One>,
}

struct One {
    look: Look,
    state: Met,
}

/// How far something that is awaited has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Met {
    /// It was first so at this revision.
    At(Revision),
    /// It was not so at any revision up to this one; the last answer.
    NotBy(Revision, Answer),
}

impl Awaiting {
    /// Looks at the objects as they are, and from now on at every revision.
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

    /// There is a new revision.
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
