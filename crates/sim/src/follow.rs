use std::sync::Arc;
use std::time::Duration;

use coracle_journal::Recorder;
use coracle_store::{Error, Event, EventKind, Position, RangeRequest, Revision, Store, WatchBatch, WatchRequest};

use crate::PluralOf;
use crate::object_changes::ObjectChanges;

/// How long to wait before a store that is down is called again.
const STORE_PAUSE: Duration = Duration::from_millis(100);
/// How long changes are collected before they are recorded. A follower that is woken by each change would take CPU time
/// from the writers.
const GATHERED: Duration = Duration::from_millis(5);

/// Records each change of an object in the event log, until the store fails permanently; run it next to a cluster. The
/// contents of Secrets are left out. A `World` with a recorder does the same, and answers questions.
///
/// # Errors
///
/// If history that was not read yet is compacted, or the store is gone.
pub async fn record_objects(store: &dyn Store, plural_of: PluralOf, recorder: Recorder) -> Result<(), Error> {
    let objects = ObjectChanges::new(recorder);
    let tell = |batch: &WatchBatch| batch.events.iter().for_each(|event| objects.record(event, &plural_of));
    let take = |followed: Followed<'_>| match followed {
        Followed::All(batch) | Followed::Changes(batch) => tell(batch),
        Followed::Opened(_) => {}
    };
    follow_all(store, GATHERED, take).await
}

/// Records each change of an object after a revision, as [`record_objects`] does; run it next to a cluster.
///
/// # Errors
///
/// As for [`record_objects`].
pub async fn record_changes(
    store: &dyn Store,
    plural_of: PluralOf,
    recorder: Recorder,
    after: Revision,
) -> Result<(), Error> {
    let objects = ObjectChanges::new(recorder);
    let mut take = |followed: Followed<'_>| {
        if let Followed::Changes(batch) = followed {
            batch.events.iter().for_each(|event| objects.record(event, &plural_of));
        }
    };
    follow_changes(store, after, GATHERED, &mut take).await
}

/// What a follower of the store receives.
pub(crate) enum Followed<'b> {
    /// All objects of the store, once, at the beginning.
    All(&'b WatchBatch),
    /// A watch was opened at the last revision; with its position, if the store provides one.
    Opened(Option<Arc<dyn Position>>),
    /// The changes since then.
    Changes(&'b WatchBatch),
}

/// Calls `take` with all objects of the store, and then with each change and the value before it. Changes within the
/// interval `gathered` come together, unless it is zero.
pub(crate) async fn follow_all(
    store: &dyn Store,
    gathered: Duration,
    mut take: impl FnMut(Followed<'_>),
) -> Result<(), Error> {
    let found = all(store).await?;
    take(Followed::All(&found));
    follow_changes(store, found.revision, gathered, &mut take).await
}

/// All objects of the store, as if each was just created.
pub(crate) async fn all(store: &dyn Store) -> Result<WatchBatch, Error> {
    let range = coracle_storage::all_objects();
    let found = store.range(RangeRequest { range, ..RangeRequest::default() }).await?;
    // A range is ordered by keys; a history is ordered by revisions.
    let mut events: Vec<Event> =
        found.kvs.into_iter().map(|kv| Event { kind: EventKind::Put, kv, prev_kv: None }).collect();
    events.sort_by_key(|event| event.kv.mod_revision);
    Ok(WatchBatch { revision: found.revision, events })
}

/// Calls `take` with each change after a revision.
async fn follow_changes(
    store: &dyn Store,
    after: Revision,
    gathered: Duration,
    take: &mut impl FnMut(Followed<'_>),
) -> Result<(), Error> {
    let range = coracle_storage::all_objects();
    let mut next = after + 1;
    loop {
        let request = WatchRequest { range: range.clone(), start_revision: next, prev_kv: true };
        match follow_from(store, request, gathered, &mut next, take).await {
            // A store that was killed comes back with its history.
            Err(Error::Unavailable(_)) => tokio::time::sleep(STORE_PAUSE).await,
            ended => return ended,
        }
    }
}

async fn follow_from(
    store: &dyn Store,
    request: WatchRequest,
    gathered: Duration,
    next: &mut Revision,
    take: &mut impl FnMut(Followed<'_>),
) -> Result<(), Error> {
    let mut watch = store.watch(request).await?;
    take(Followed::Opened(watch.position()));
    loop {
        let batch = watch.next().await?;
        *next = (*next).max(batch.revision + 1);
        take(Followed::Changes(&batch));
        if !gathered.is_zero() {
            tokio::time::sleep(gathered).await;
        }
    }
}
