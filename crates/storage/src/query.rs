use coracle_meta::{FieldSelector, LabelSelector};
use coracle_store::Revision;

/// How a resource version in a list or a watch is meant. In Kubernetes: `metav1.ResourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// At that version or any newer.
    NotOlderThan,
    /// At exactly that version.
    Exact,
}

/// Which objects of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those of one namespace; empty for all.
    pub namespace: String,
    /// The one with this name; empty for all.
    pub name: String,
    /// Those with these labels.
    pub labels: LabelSelector,
    /// Those with these fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// All objects of a namespace; of all namespaces if it is empty.
    pub fn namespace(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::default() }
    }

    /// Whether labels or fields narrow the choice, so that the store cannot count for us.
    pub fn is_filtered(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }
}

/// Which state of the store a read may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The newest.
    #[default]
    Newest,
    /// Whatever is at hand.
    Any,
    /// This revision or a newer one.
    NotOlderThan(Revision),
    /// Exactly this revision.
    Exact(Revision),
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Which objects.
    pub selection: Selection,
    /// Of which state.
    pub freshness: Freshness,
    /// How many at the most; 0 for all.
    pub limit: usize,
    /// Whether values that cannot be read are left out and named, and do not refuse the list: for what the server itself
    /// derives from objects.
    pub skips_unreadable: bool,
    /// Where an earlier page ended; empty for the first.
    pub continue_token: String,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchStart {
    /// With an event for each object there is, then what follows (resource version unset or 0).
    #[default]
    Snapshot,
    /// With what follows this revision.
    After(Revision),
    /// With what comes from now on.
    Now,
}

/// What to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchQuery {
    /// Which objects.
    pub selection: Selection,
    /// From where on.
    pub start: WatchStart,
    /// How fresh the snapshot at the start has to be.
    pub freshness: Freshness,
    /// Whether to send bookmarks.
    pub bookmarks: bool,
    /// Whether a marked bookmark closes the initial events (`sendInitialEvents`).
    pub initial_events_end: bool,
    /// After how many seconds the caller ends the watch: the last bookmark comes shortly before. 0 for never.
    pub timeout_seconds: u64,
}
