use coracle_journal::{EntryId, Recorder};
use coracle_store::{Error, Revision, Store};

use crate::PluralOf;
use crate::checks::RunLog;
use crate::follow::all;
use crate::object_changes::ObjectChanges;

/// The objects with which runs begin that start from one store. They are read once, and the event logs of the runs do
/// not contain them.
#[derive(Clone, Debug)]
pub struct StartingObjects {
    /// The revision. A run records the [changes](crate::record_changes) after it.
    pub revision: Revision,
    /// The objects, which the log of each run [continues](RunLog::continued).
    pub log: RunLog,
}

impl StartingObjects {
    /// The objects of a store.
    ///
    /// # Errors
    /// If the store is gone.
    pub async fn of(store: &dyn Store, plural_of: &PluralOf) -> Result<Self, Error> {
        let recorder = Recorder::ring(usize::MAX);
        let objects = ObjectChanges::new(recorder.clone());
        let found = all(store).await?;
        found.events.iter().for_each(|event| objects.record(event, plural_of));
        let log = RunLog::before_a_run(&recorder.entries(EntryId(0)));
        Ok(Self { revision: found.revision, log })
    }
}
