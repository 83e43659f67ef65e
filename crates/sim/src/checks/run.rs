use std::collections::BTreeMap;

use coracle_journal::EntryId;

use super::run_log::RunLog;
use crate::wire::LastSent;

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
    /// What the component was last sent of the object before each of its deletions, by audit id.
    pub shown: BTreeMap<String, LastSent>,
}
