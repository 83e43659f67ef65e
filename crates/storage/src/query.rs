use coracle_meta::{FieldSelector, LabelSelector};
use coracle_store::Revision;

/// How the resource version of a list or a watch is matched. In Kubernetes: `metav1.ResourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// At that version or any newer.
    NotOlderThan,
    /// At exactly that version.
    Exact,
}

/// Selects objects of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The label selector.
    pub labels: LabelSelector,
    /// The field selector.
    pub fields: FieldSelector,
}

impl Selection {
    /// All objects of a namespace; of all namespaces if it is empty.
    pub fn namespace(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::default() }
    }

    /// Whether labels or fields are selected, so that the store cannot count the objects.
    pub fn is_filtered(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }
}

/// Which state of the store a read may return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The newest.
    #[default]
    Newest,
    /// Any state.
    Any,
    /// The state at this revision or a newer one.
    NotOlderThan(Revision),
    /// The state at exactly this revision.
    Exact(Revision),
    /// The state at this revision, also for reads and watches that cannot ask for one: what a server answers that has
    /// not seen newer revisions. It must not be compacted.
    AsOf(Revision),
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Which objects.
    pub selection: Selection,
    /// The required state.
    pub freshness: Freshness,
    /// The maximum number of objects; 0 for all.
    pub limit: usize,
    /// Whether values that cannot be decoded are left out and listed, instead of failing the list: for data that the
    /// server itself derives from objects.
    pub skips_unreadable: bool,
    /// The end of the previous page; empty for the first page.
    pub continue_token: String,
}

/// The start of a watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchStart {
    /// An event for each existing object, followed by changes (resource version unset or 0).
    #[default]
    Snapshot,
    /// The changes after this revision.
    After(Revision),
    /// The changes from now on.
    Now,
}

/// What to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchQuery {
    /// Which objects.
    pub selection: Selection,
    /// The start.
    pub start: WatchStart,
    /// The required state of the initial snapshot.
    pub freshness: Freshness,
    /// Whether to send bookmarks.
    pub bookmarks: bool,
    /// Whether a marked bookmark ends the initial events (`sendInitialEvents`).
    pub initial_events_end: bool,
    /// After how many seconds the caller ends the watch: the last bookmark is sent shortly before. 0 for never.
    pub timeout_seconds: u64,
}
